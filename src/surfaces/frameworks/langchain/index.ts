/** What the tool takes. */
export type { CodeToolOptions } from "../../../service/tools/code-tool.ts";
/** What the adapters need of a session: the library's and the client's both have it. */
export type { CodeRun, CodeSession, CodeSessionFiles } from "../../../sessions/code-session.ts";
/** How the tool is offered. */
export type { NamedToolOptions } from "../named-tool-options.ts";
/** Where the files of a session are. */
export type { WorkspaceOptions } from "../workspace.ts";
/** A LangChain tool that runs code. */
export { codeTool, type LangChainCodeTool } from "./code-tool.ts";
/** The sandbox backend of a deep agent. */
export {
  type DeepAgentsBackend,
  type FileOperationError,
  type FoundFile,
  type FoundLine,
  sessionBackend,
} from "./session-backend.ts";
