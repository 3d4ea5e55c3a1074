import { checkpointTool } from "./checkpoint.ts";
import { closeSessionTool } from "./close-session.ts";
import { getRunTool } from "./get-run.ts";
import { listArtifactsTool } from "./list-artifacts.ts";
import { readArtifactTool } from "./read-artifact.ts";
import { readOutputTool } from "./read-output.ts";
import { rlmExecTool } from "./rlm-exec.ts";
import { rlmGetTool } from "./rlm-get.ts";
import { rlmLoadTool } from "./rlm-load.ts";
import { rlmResetTool } from "./rlm-reset.ts";
import { rlmRunTool } from "./rlm-run.ts";
import { rlmSubAgentTool } from "./rlm-sub-agent.ts";
import { rlmVarsTool } from "./rlm-vars.ts";
import { runPythonOnlyTool, runPythonTool } from "./run-python.ts";
import type { Tool } from "./tool.ts";
import type { ToolsetName } from "./toolset-name.ts";
import { uploadFileTool } from "./upload-file.ts";

const rlm = [rlmExecTool, rlmLoadTool, rlmGetTool, rlmVarsTool, rlmResetTool];
const interpreter = [runPythonTool, uploadFileTool, closeSessionTool, checkpointTool];
const interpreterWithoutProcesses = [runPythonOnlyTool, uploadFileTool, closeSessionTool];
/** Both sets need these: long runs, files, truncated output. */
const shared = [getRunTool, listArtifactsTool, readArtifactTool, readOutputTool];

/** What decides which tools of a set work. */
export interface ToolsetOptions {
  /** whether a model is set up, for sub-agents */
  readonly hasModel: boolean;
  /** false: cells are known to have no processes, so there is no bash and no checkpoint; default: true */
  readonly hasProcesses?: boolean;
}

/** The tools of a set, as far as they can work. */
export function toolsOf(name: ToolsetName, { hasModel, hasProcesses = true }: ToolsetOptions): Tool[] {
  return [
    ...(name === "rlm" ? [] : hasProcesses ? interpreter : interpreterWithoutProcesses),
    ...(name === "interpreter" ? [] : [...rlm, ...(hasModel ? [rlmSubAgentTool, rlmRunTool] : [])]),
    ...shared,
  ];
}
