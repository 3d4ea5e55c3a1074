import type { Route } from "./route.ts";
import { answerCallRoute } from "./routes/answer-call.ts";
import { appendStdinRoute } from "./routes/append-stdin.ts";
import { cancelRunRoute } from "./routes/cancel-run.ts";
import { changePolicyRoute } from "./routes/change-policy.ts";
import { closeSessionRoute } from "./routes/close-session.ts";
import { completeRoute } from "./routes/complete.ts";
import { createCheckpointRoute } from "./routes/create-checkpoint.ts";
import { createDisplayLinkRoute } from "./routes/create-display-link.ts";
import { createLinkRoute } from "./routes/create-link.ts";
import { createSessionRoute } from "./routes/create-session.ts";
import { deleteCheckpointRoute } from "./routes/delete-checkpoint.ts";
import { deleteFileRoute } from "./routes/delete-file.ts";
import { downloadRoute } from "./routes/download.ts";
import { exportSessionRoute } from "./routes/export-session.ts";
import { forkSessionRoute } from "./routes/fork-session.ts";
import { getCellRoute } from "./routes/get-cell.ts";
import { getFileRoute } from "./routes/get-file.ts";
import { getLineageRoute } from "./routes/get-lineage.ts";
import { getPolicyRoute } from "./routes/get-policy.ts";
import { getReceiptRoute } from "./routes/get-receipt.ts";
import { getRunRoute } from "./routes/get-run.ts";
import { getSessionRoute } from "./routes/get-session.ts";
import { getStatisticsRoute } from "./routes/get-statistics.ts";
import { getTrajectoryRoute } from "./routes/get-trajectory.ts";
import { getUsageRoute } from "./routes/get-usage.ts";
import { getVariableRoute } from "./routes/get-variable.ts";
import { getVariableBytesRoute } from "./routes/get-variable-bytes.ts";
import { healthRoute } from "./routes/health.ts";
import { interruptRunRoute } from "./routes/interrupt-run.ts";
import { listArtifactsRoute } from "./routes/list-artifacts.ts";
import { listAuditRoute } from "./routes/list-audit.ts";
import { listCallsRoute } from "./routes/list-calls.ts";
import { listCheckpointsRoute } from "./routes/list-checkpoints.ts";
import { listFilesRoute } from "./routes/list-files.ts";
import { listGatewaysRoute } from "./routes/list-gateways.ts";
import { listHistoryRoute } from "./routes/list-history.ts";
import { listModelsRoute } from "./routes/list-models.ts";
import { listNetworkRoute } from "./routes/list-network.ts";
import { listRunsRoute } from "./routes/list-runs.ts";
import { listSessionsRoute } from "./routes/list-sessions.ts";
import { listUsageRoute } from "./routes/list-usage.ts";
import { listVariablesRoute } from "./routes/list-variables.ts";
import { meRoute } from "./routes/me.ts";
import { metricsRoute } from "./routes/metrics.ts";
import { openApiRoute } from "./routes/openapi.ts";
import { putFileRoute } from "./routes/put-file.ts";
import { putStdinRoute } from "./routes/put-stdin.ts";
import { readValueRoute } from "./routes/read-value.ts";
import { readyRoute } from "./routes/ready.ts";
import { resetSessionRoute } from "./routes/reset-session.ts";
import { restoreSessionRoute } from "./routes/restore-session.ts";
import { rollbackRoute } from "./routes/rollback.ts";
import { saveSessionRoute } from "./routes/save-session.ts";
import { setFunctionsRoute } from "./routes/set-functions.ts";
import { setVariableRoute } from "./routes/set-variable.ts";
import { setVariableBytesRoute } from "./routes/set-variable-bytes.ts";
import { showDisplayRoute } from "./routes/show-display.ts";
import { startRunRoute } from "./routes/start-run.ts";
import { streamEventsRoute } from "./routes/stream-events.ts";
import { undoRoute } from "./routes/undo.ts";
import { verifyAuditRoute } from "./routes/verify-audit.ts";
import { watchRunRoute } from "./routes/watch-run.ts";

/** All routes, in the order of the OpenAPI document. /mcp is not one of them, because MCP is another protocol. */
export const routes: readonly Route[] = [
  meRoute,
  listSessionsRoute,
  listUsageRoute,
  createSessionRoute,
  getSessionRoute,
  getCellRoute,
  getUsageRoute,
  closeSessionRoute,
  forkSessionRoute,
  getPolicyRoute,
  changePolicyRoute,
  resetSessionRoute,
  saveSessionRoute,
  restoreSessionRoute,
  listHistoryRoute,
  exportSessionRoute,
  listNetworkRoute,
  listModelsRoute,
  getTrajectoryRoute,
  startRunRoute,
  listRunsRoute,
  getRunRoute,
  watchRunRoute,
  putStdinRoute,
  appendStdinRoute,
  cancelRunRoute,
  interruptRunRoute,
  getReceiptRoute,
  listVariablesRoute,
  getVariableRoute,
  setVariableRoute,
  getVariableBytesRoute,
  setVariableBytesRoute,
  readValueRoute,
  completeRoute,
  setFunctionsRoute,
  listCallsRoute,
  answerCallRoute,
  listFilesRoute,
  getFileRoute,
  putFileRoute,
  deleteFileRoute,
  listArtifactsRoute,
  createLinkRoute,
  downloadRoute,
  createDisplayLinkRoute,
  showDisplayRoute,
  listCheckpointsRoute,
  createCheckpointRoute,
  rollbackRoute,
  deleteCheckpointRoute,
  getLineageRoute,
  undoRoute,
  listAuditRoute,
  verifyAuditRoute,
  streamEventsRoute,
  healthRoute,
  readyRoute,
  listGatewaysRoute,
  metricsRoute,
  getStatisticsRoute,
  openApiRoute,
];
