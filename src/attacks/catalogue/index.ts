import type { Attack } from "../attack.ts";
import { egressAttacks, secretAttacks } from "./egress.ts";
import { environmentAttacks } from "./environment.ts";
import { diskExhaustion } from "./exhaustion-disk.ts";
import { memoryExhaustion } from "./exhaustion-memory.ts";
import { processExhaustion } from "./exhaustion-processes.ts";
import { timeExhaustion } from "./exhaustion-time.ts";
import { hostFileAttacks } from "./host-files.ts";
import { javaScriptAttacks } from "./javascript.ts";
import { linuxKernelAttacks } from "./linux-kernel.ts";
import { mountAttacks } from "./mounts.ts";
import { neighbourLimits } from "./neighbour-limits.ts";
import { neighbourSecrets } from "./neighbour-secrets.ts";
import { networkAttacks } from "./network.ts";
import { persistenceInNextSession } from "./persistence-next-session.ts";
import { plantedFiles } from "./persistence-planted.ts";
import { persistenceOfProcesses } from "./persistence-processes.ts";
import { procAndSysAttacks } from "./proc-and-sys.ts";
import { processAttacks } from "./processes.ts";
import { forgedAnswers } from "./protocol-answers.ts";
import { forgedCalls } from "./protocol-calls.ts";
import { forgedMessages } from "./protocol-messages.ts";
import { supervisorAttacks } from "./protocol-supervisor.ts";

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
  ...memoryExhaustion,
  ...processExhaustion,
  ...diskExhaustion,
  ...timeExhaustion,
  ...persistenceOfProcesses,
  ...persistenceInNextSession,
  ...plantedFiles,
  ...neighbourSecrets,
  ...neighbourLimits,
  ...forgedMessages,
  ...forgedAnswers,
  ...forgedCalls,
  ...supervisorAttacks,
];
