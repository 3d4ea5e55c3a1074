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
import { runPythonTool } from "./run-python.ts";
import type { Tool } from "./tool.ts";
import type { ToolsetName } from "./toolset-name.ts";
import { uploadFileTool } from "./upload-file.ts";

const rlm = [rlmExecTool, rlmLoadTool, rlmGetTool, rlmVarsTool, rlmResetTool];
const interpreter = [runPythonTool, uploadFileTool, closeSessionTool, checkpointTool];
/** Both sets need these: long runs, files, truncated output. */
const shared = [getRunTool, listArtifactsTool, readArtifactTool, readOutputTool];

/** The tools of a set. Sub-agents are offered only where they work. */
export function toolsOf(name: ToolsetName, options: { hasModel: boolean }): Tool[] {
  return [
    ...(name === "rlm" ? [] : interpreter),
    ...(name === "interpreter" ? [] : [...rlm, ...(options.hasModel ? [rlmSubAgentTool, rlmRunTool] : [])]),
    ...shared,
  ];
}
