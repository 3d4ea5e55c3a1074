/** What the tool takes. */
export type { CodeToolOptions } from "../../../service/tools/code-tool.ts";
/** What the adapters need of a session: the library's and the client's both have it. */
export type { CodeRun, CodeSession, CodeSessionFiles } from "../../../sessions/code-session.ts";
/** How the tool is offered. */
export type { NamedToolOptions } from "../named-tool-options.ts";
/** Where the files of a session are. */
export type { WorkspaceOptions } from "../workspace.ts";
/** A function tool that runs code. */
export { codeTool, type OpenAiCodeTool, type OpenAiContent } from "./code-tool.ts";
/** The `Editor` of `applyPatchTool`. */
export { type OpenAiEditor, type PatchOperation, type PatchResult, sessionEditor } from "./editor.ts";
/** The sandbox session of a `SandboxAgent`. */
export type { ExecCommand, OpenAiSandbox, SandboxEntry } from "./sandbox.ts";
/** The sandbox client of a `SandboxAgent`. */
export { type OpenAiSandboxClient, type SessionSource, sandboxClient, sandboxSession } from "./sandbox-client.ts";
/** The `Shell` of `shellTool`. */
export { type OpenAiShell, type ShellOutput, sessionShell } from "./shell.ts";
