import type { Tool } from "./tool.ts";
import { cancelRunTool } from "./tools/cancel-run.ts";
import { checkpointTool } from "./tools/checkpoint.ts";
import { closeSessionTool } from "./tools/close-session.ts";
import { forkSessionTool } from "./tools/fork-session.ts";
import { getRunTool } from "./tools/get-run.ts";
import { listArtifactsTool } from "./tools/list-artifacts.ts";
import { readArtifactTool } from "./tools/read-artifact.ts";
import { readOutputTool } from "./tools/read-output.ts";
import { rlmExecTool } from "./tools/rlm-exec.ts";
import { rlmGetTool } from "./tools/rlm-get.ts";
import { rlmLoadTool } from "./tools/rlm-load.ts";
import { rlmResetTool } from "./tools/rlm-reset.ts";
import { rlmSubAgentTool } from "./tools/rlm-sub-agent.ts";
import { rlmVarsTool } from "./tools/rlm-vars.ts";
import { rollbackTool } from "./tools/rollback.ts";
import { runPythonTool } from "./tools/run-python.ts";
import { uploadFileTool } from "./tools/upload-file.ts";
import type { ToolsetName } from "./toolset-name.ts";

const rlm = [rlmExecTool, rlmLoadTool, rlmGetTool, rlmVarsTool, rlmResetTool];
const interpreter = [runPythonTool, uploadFileTool, closeSessionTool, checkpointTool, rollbackTool, forkSessionTool];
/** What both sets need: runs that go on, files that were made, output that was cut. */
const shared = [getRunTool, cancelRunTool, listArtifactsTool, readArtifactTool, readOutputTool];

/** The tools of a set. The sub-agent is offered only where a model can answer. */
export function toolsOf(name: ToolsetName, options: { hasModel: boolean }): Tool[] {
  return [
    ...(name === "rlm" ? [] : interpreter),
    ...(name === "interpreter" ? [] : [...rlm, ...(options.hasModel ? [rlmSubAgentTool] : [])]),
    ...shared,
  ];
}
