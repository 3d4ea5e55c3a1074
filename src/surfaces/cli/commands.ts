import type { CommandEntry } from "./command.ts";

/** Every command, in the order of the help. */
export const commands: readonly CommandEntry[] = [
  {
    name: "run",
    summary: "Run a program in a fresh cell or in a named session",
    load: async () => (await import("./commands/run.ts")).runCommand,
  },
  {
    name: "warm status",
    summary: "List the background processes of `codecell run --warm`",
    load: async () => (await import("./commands/warm-status.ts")).warmStatusCommand,
  },
  {
    name: "warm stop",
    summary: "Stop the background processes of `codecell run --warm`",
    load: async () => (await import("./commands/warm-stop.ts")).warmStopCommand,
  },
  {
    name: "warm hold",
    summary: "Keep warm cells for `codecell run --warm`, which starts this command itself",
    load: async () => (await import("./commands/warm-hold.ts")).warmHoldCommand,
  },
  {
    name: "repl",
    summary: "Open an interactive session that keeps its variables",
    load: async () => (await import("./commands/repl.ts")).replCommand,
  },
  {
    name: "ps",
    summary: "List the sessions that are live on this machine, and the processes that hold them",
    load: async () => (await import("./commands/ps.ts")).psCommand,
  },
  {
    name: "logs",
    summary: "Show what ran in a session: code, output and how each run ended",
    load: async () => (await import("./commands/logs.ts")).logsCommand,
  },
  {
    name: "sessions ls",
    summary: "List saved and live sessions, most recently used first",
    load: async () => (await import("./commands/sessions-ls.ts")).sessionsLsCommand,
  },
  {
    name: "sessions show",
    summary: "Show a session: saved variables, what could not be saved, recent runs and files",
    load: async () => (await import("./commands/sessions-show.ts")).sessionsShowCommand,
  },
  {
    name: "sessions rm",
    summary: "Delete sessions: variables, history and files",
    load: async () => (await import("./commands/sessions-rm.ts")).sessionsRmCommand,
  },
  {
    name: "sessions save",
    summary: "Load a session into a cell and save it again, listing what can be saved",
    load: async () => (await import("./commands/sessions-save.ts")).sessionsSaveCommand,
  },
  {
    name: "sessions restore",
    summary: "Test restoring a session: load it into a cell and report what was restored",
    load: async () => (await import("./commands/sessions-restore.ts")).sessionsRestoreCommand,
  },
  {
    name: "sessions export",
    summary: "Write a session's runs and their outputs as a notebook, a script or JSON",
    load: async () => (await import("./commands/sessions-export.ts")).sessionsExportCommand,
  },
  {
    name: "artifacts ls",
    summary: "List the files in a session's workspace",
    load: async () => (await import("./commands/artifacts-ls.ts")).artifactsLsCommand,
  },
  {
    name: "artifacts get",
    summary: "Copy a file out of a session's workspace",
    load: async () => (await import("./commands/artifacts-get.ts")).artifactsGetCommand,
  },
  {
    name: "artifacts rm",
    summary: "Delete files from a session's workspace",
    load: async () => (await import("./commands/artifacts-rm.ts")).artifactsRmCommand,
  },
  {
    name: "packages ls",
    summary: "List the cached Python packages of `--with` and kernel.packages",
    load: async () => (await import("./commands/packages-ls.ts")).packagesLsCommand,
  },
  {
    name: "packages prune",
    summary: "Delete cached Python packages that were not used for a while",
    load: async () => (await import("./commands/packages-prune.ts")).packagesPruneCommand,
  },
  {
    name: "audit tail",
    summary: "Show the latest events of the audit",
    load: async () => (await import("./commands/audit-tail.ts")).auditTailCommand,
  },
  {
    name: "audit show",
    summary: "Show every recorded event of a session, with its code",
    load: async () => (await import("./commands/audit-show.ts")).auditShowCommand,
  },
  {
    name: "audit verify",
    summary: "Find audit lines that were edited, removed, duplicated or moved",
    load: async () => (await import("./commands/audit-verify.ts")).auditVerifyCommand,
  },
  {
    name: "audit head",
    summary: "Print the number and hash of each chain's last line, to keep elsewhere",
    load: async () => (await import("./commands/audit-head.ts")).auditHeadCommand,
  },
  {
    name: "audit export",
    summary: "Export events as JSON lines or CSV, sorted by time across all chains",
    load: async () => (await import("./commands/audit-export.ts")).auditExportCommand,
  },
  {
    name: "rlm run",
    summary: "Let a model answer by writing and running code over large inputs",
    load: async () => (await import("./commands/rlm-run.ts")).rlmRunCommand,
  },
  {
    name: "rlm show",
    summary: "Show a recorded recursive run as a tree, or as one HTML page",
    load: async () => (await import("./commands/rlm-show.ts")).rlmShowCommand,
  },
  {
    name: "mcp",
    summary: "Serve sessions to an MCP client",
    load: async () => (await import("./commands/mcp.ts")).mcpCommand,
  },
  {
    name: "serve",
    summary: "Serve sessions over HTTP: REST, events, MCP and a dashboard",
    load: async () => (await import("./commands/serve.ts")).serveCommand,
  },
  {
    name: "token create",
    summary: "Create a token for `codecell serve`",
    load: async () => (await import("./commands/token-create.ts")).tokenCreateCommand,
  },
  {
    name: "token ls",
    summary: "List the tokens of `codecell serve`",
    load: async () => (await import("./commands/token-ls.ts")).tokenLsCommand,
  },
  {
    name: "token rotate",
    summary: "Give a token a new secret",
    load: async () => (await import("./commands/token-rotate.ts")).tokenRotateCommand,
  },
  {
    name: "token rm",
    summary: "Remove a token",
    load: async () => (await import("./commands/token-rm.ts")).tokenRmCommand,
  },
  {
    name: "database migrate",
    summary: "Create or update the tables of a shared database",
    load: async () => (await import("./commands/database-migrate.ts")).databaseMigrateCommand,
  },
  {
    name: "database status",
    summary: "Check that a shared database can be reached and has the tables of this version",
    load: async () => (await import("./commands/database-status.ts")).databaseStatusCommand,
  },
  {
    name: "setup claude-code",
    summary: "Add the MCP server to Claude Code",
    load: async () => (await import("./commands/setup-claude-code.ts")).setupClaudeCodeCommand,
  },
  {
    name: "setup cursor",
    summary: "Add the MCP server to Cursor",
    load: async () => (await import("./commands/setup-client.ts")).setupCursorCommand,
  },
  {
    name: "setup vscode",
    summary: "Add the MCP server to VS Code",
    load: async () => (await import("./commands/setup-client.ts")).setupVscodeCommand,
  },
  {
    name: "setup claude-desktop",
    summary: "Add the MCP server to Claude Desktop",
    load: async () => (await import("./commands/setup-client.ts")).setupClaudeDesktopCommand,
  },
  {
    name: "setup codex",
    summary: "Add the MCP server to Codex",
    load: async () => (await import("./commands/setup-client.ts")).setupCodexCommand,
  },
  {
    name: "doctor",
    summary: "Show which runners are available, and how to fix the others",
    load: async () => (await import("./commands/doctor.ts")).doctorCommand,
  },
  {
    name: "image build",
    summary: "Build the image that container cells run in",
    load: async () => (await import("./commands/image-build.ts")).imageBuildCommand,
  },
  {
    name: "image ls",
    summary: "List the images built for cells",
    load: async () => (await import("./commands/image-ls.ts")).imageLsCommand,
  },
  {
    name: "image show",
    summary: "Show one image; by default the one that cells use",
    load: async () => (await import("./commands/image-show.ts")).imageShowCommand,
  },
  {
    name: "policy init",
    summary: "Write a commented sandbox.policy.yaml into the current directory",
    load: async () => (await import("./commands/policy-init.ts")).policyInitCommand,
  },
  {
    name: "policy check",
    summary: "Validate a policy file and report every problem in it",
    load: async () => (await import("./commands/policy-check.ts")).policyCheckCommand,
  },
  {
    name: "policy explain",
    summary: "Show how each rule of a policy is enforced on this machine, or why it is refused",
    load: async () => (await import("./commands/policy-explain.ts")).policyExplainCommand,
  },
  {
    name: "policy trust",
    summary: "Obey a policy file in a directory that programs could write",
    load: async () => (await import("./commands/policy-trust.ts")).policyTrustCommand,
  },
  {
    name: "policy export",
    summary: "Convert a policy into settings for a sandbox around the MCP server itself",
    load: async () => (await import("./commands/policy-export.ts")).policyExportCommand,
  },
  {
    name: "policy schema",
    summary: "Print the JSON Schema for policy files, for editors",
    load: async () => (await import("./commands/policy-schema.ts")).policySchemaCommand,
  },
  {
    name: "completion",
    summary: "Print a script that completes commands, options and names in your shell",
    load: async () => (await import("./commands/completion.ts")).completionCommand,
  },
  {
    name: "schema",
    summary: "Print the JSON Schema of the objects that `--json`, HTTP and MCP return",
    load: async () => (await import("./commands/schema.ts")).schemaCommand,
  },
];
