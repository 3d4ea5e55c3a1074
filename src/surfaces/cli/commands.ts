import type { Command } from "./command.ts";
import { artifactsGetCommand } from "./commands/artifacts-get.ts";
import { artifactsLsCommand } from "./commands/artifacts-ls.ts";
import { artifactsRmCommand } from "./commands/artifacts-rm.ts";
import { auditExportCommand } from "./commands/audit-export.ts";
import { auditHeadCommand } from "./commands/audit-head.ts";
import { auditShowCommand } from "./commands/audit-show.ts";
import { auditTailCommand } from "./commands/audit-tail.ts";
import { auditVerifyCommand } from "./commands/audit-verify.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { imageBuildCommand } from "./commands/image-build.ts";
import { imageLsCommand } from "./commands/image-ls.ts";
import { imageShowCommand } from "./commands/image-show.ts";
import { mcpCommand } from "./commands/mcp.ts";
import { policyCheckCommand } from "./commands/policy-check.ts";
import { policyExplainCommand } from "./commands/policy-explain.ts";
import { policyExportCommand } from "./commands/policy-export.ts";
import { policyInitCommand } from "./commands/policy-init.ts";
import { policySchemaCommand } from "./commands/policy-schema.ts";
import { replCommand } from "./commands/repl.ts";
import { runCommand } from "./commands/run.ts";
import { schemaCommand } from "./commands/schema.ts";
import { serveCommand } from "./commands/serve.ts";
import { sessionsLsCommand } from "./commands/sessions-ls.ts";
import { sessionsRestoreCommand } from "./commands/sessions-restore.ts";
import { sessionsRmCommand } from "./commands/sessions-rm.ts";
import { sessionsSaveCommand } from "./commands/sessions-save.ts";
import { sessionsShowCommand } from "./commands/sessions-show.ts";
import { setupClaudeCodeCommand } from "./commands/setup-claude-code.ts";
import { tokenCreateCommand } from "./commands/token-create.ts";
import { tokenLsCommand } from "./commands/token-ls.ts";
import { tokenRmCommand } from "./commands/token-rm.ts";
import { tokenRotateCommand } from "./commands/token-rotate.ts";

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
  artifactsRmCommand,
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
  schemaCommand,
];
