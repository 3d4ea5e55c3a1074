import { artifactsGetCommand } from "./artifacts-get.ts";
import { artifactsLsCommand } from "./artifacts-ls.ts";
import { auditExportCommand } from "./audit-export.ts";
import { auditHeadCommand } from "./audit-head.ts";
import { auditShowCommand } from "./audit-show.ts";
import { auditTailCommand } from "./audit-tail.ts";
import { auditVerifyCommand } from "./audit-verify.ts";
import type { Command } from "./command.ts";
import { doctorCommand } from "./doctor.ts";
import { imageBuildCommand } from "./image-build.ts";
import { imageLsCommand } from "./image-ls.ts";
import { imageShowCommand } from "./image-show.ts";
import { mcpCommand } from "./mcp.ts";
import { policyCheckCommand } from "./policy-check.ts";
import { policyExplainCommand } from "./policy-explain.ts";
import { policyExportCommand } from "./policy-export.ts";
import { policyInitCommand } from "./policy-init.ts";
import { policySchemaCommand } from "./policy-schema.ts";
import { replCommand } from "./repl.ts";
import { runCommand } from "./run.ts";
import { serveCommand } from "./serve.ts";
import { sessionsLsCommand } from "./sessions-ls.ts";
import { sessionsRestoreCommand } from "./sessions-restore.ts";
import { sessionsRmCommand } from "./sessions-rm.ts";
import { sessionsSaveCommand } from "./sessions-save.ts";
import { sessionsShowCommand } from "./sessions-show.ts";
import { setupClaudeCodeCommand } from "./setup-claude-code.ts";
import { tokenCreateCommand } from "./token-create.ts";
import { tokenLsCommand } from "./token-ls.ts";
import { tokenRmCommand } from "./token-rm.ts";
import { tokenRotateCommand } from "./token-rotate.ts";

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  runCommand,
  replCommand,
  sessionsLsCommand,
  sessionsShowCommand,
  sessionsRmCommand,
  sessionsSaveCommand,
  sessionsRestoreCommand,
  artifactsLsCommand,
  artifactsGetCommand,
  auditTailCommand,
  auditShowCommand,
  auditVerifyCommand,
  auditHeadCommand,
  auditExportCommand,
  mcpCommand,
  serveCommand,
  tokenCreateCommand,
  tokenLsCommand,
  tokenRotateCommand,
  tokenRmCommand,
  setupClaudeCodeCommand,
  doctorCommand,
  imageBuildCommand,
  imageLsCommand,
  imageShowCommand,
  policyInitCommand,
  policyCheckCommand,
  policyExplainCommand,
  policyExportCommand,
  policySchemaCommand,
];
