import type { Command } from "./command.ts";
import { doctorCommand } from "./doctor.ts";
import { policyCheckCommand } from "./policy-check.ts";
import { policyExplainCommand } from "./policy-explain.ts";
import { policyInitCommand } from "./policy-init.ts";
import { policySchemaCommand } from "./policy-schema.ts";
import { replCommand } from "./repl.ts";
import { runCommand } from "./run.ts";

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  runCommand,
  replCommand,
  doctorCommand,
  policyInitCommand,
  policyCheckCommand,
  policyExplainCommand,
  policySchemaCommand,
];
