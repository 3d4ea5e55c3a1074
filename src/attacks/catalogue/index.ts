import type { Attack } from "../attack.ts";
import { networkAttacks } from "./network.ts";

/** Every attack of the suite. */
export const attacks: readonly Attack[] = [...networkAttacks];
