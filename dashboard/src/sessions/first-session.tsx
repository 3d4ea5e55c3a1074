import { EmptyState } from "../parts/empty-state.tsx";
import { hasScope } from "../parts/load/scope.ts";
import { CopyLine } from "../parts/text/copy-line.tsx";

/** No session yet: one line for each way to make the first one. */
export function FirstSession() {
  const url = location.origin;
  const canRun = hasScope("run");
  return (
    <EmptyState title="No sessions yet">
      {canRun ? (
        <p>Choose “New session”, or start one from outside:</p>
      ) : (
        <p>A token with the scope “run” can start one:</p>
      )}
      <CopyLine label="HTTP" text={`curl --oauth2-bearer $TOKEN --json '{"session_id":"work"}' ${url}/v1/sessions`} />
      <CopyLine
        label="MCP"
        text={`claude mcp add --transport http codecell ${url}/mcp --header "Authorization: Bearer $TOKEN"`}
      />
      <CopyLine label="New token" text="codecell token create NAME --scopes run" />
    </EmptyState>
  );
}
