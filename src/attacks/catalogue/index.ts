import type { Attack } from "../attack.ts";
import { egressAttacks, secretAttacks } from "./egress.ts";
import { environmentAttacks } from "./environment.ts";
import { hostFileAttacks } from "./host-files.ts";
import { javaScriptAttacks } from "./javascript.ts";
import { linuxKernelAttacks } from "./linux-kernel.ts";
import { mountAttacks } from "./mounts.ts";
import { networkAttacks } from "./network.ts";
import { procAndSysAttacks } from "./proc-and-sys.ts";
import { processAttacks } from "./processes.ts";

/** Every attack of the suite. */
export const attacks: readonly Attack[] = [
  ...networkAttacks,
  ...hostFileAttacks,
  ...procAndSysAttacks,
  ...linuxKernelAttacks,
  ...processAttacks,
  ...environmentAttacks,
  ...javaScriptAttacks,
  ...mountAttacks,
  ...egressAttacks,
  ...secretAttacks,
];
