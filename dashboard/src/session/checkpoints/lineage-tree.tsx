import type { SessionRef } from "../../api/client.ts";
import { Ago } from "../../parts/text/ago.tsx";
import { shownName } from "../../parts/text/shown-name.ts";
import { hrefOf } from "../../state/route.ts";
import { type Line, type Lineage, type LineageNode, linesOf } from "./lineage.ts";

export interface TreeActions {
  readonly isBusy: boolean;
  readonly rollBack: (node: LineageNode) => void;
  readonly remove: (node: LineageNode) => void;
}

interface TreeProps {
  readonly lineage: Lineage;
  readonly session: SessionRef;
  /** undefined: the token may only look */
  readonly actions: TreeActions | undefined;
}

/** The history as nested lists; the lines between the steps are decoration. */
export function LineageTree(props: TreeProps) {
  return (
    <div class="lineage">
      {linesOf(props.lineage).map((line) => (
        <LineList key={line[0]?.node.id} line={line} {...props} />
      ))}
      {props.lineage.truncated ? <p class="quiet">Older steps are no longer kept.</p> : null}
    </div>
  );
}

function LineList({ line, ...props }: TreeProps & { line: Line }) {
  return (
    <ul>
      {line.map(({ node, branches }) => (
        <li key={node.id} class={node.id === props.lineage.current.node ? "current" : undefined}>
          <StepRow node={node} {...props} />
          {branches.map((branch) => (
            <LineList key={branch[0]?.node.id} line={branch} {...props} />
          ))}
        </li>
      ))}
    </ul>
  );
}

function StepRow({ node, lineage, session, actions }: TreeProps & { node: LineageNode }) {
  const isCurrent = node.id === lineage.current.node;
  const mayDelete = node.kind === "checkpoint" && node.can_roll_back;
  return (
    <div class="step" aria-current={isCurrent ? "step" : undefined}>
      <span class={`step-dot ${node.kind}`} aria-hidden="true" />
      <span class="any-text">
        <StepText node={node} session={session} />{" "}
        <span class="quiet">
          {node.run === 0 ? "before the first run" : `after run ${node.run}`} · <Ago at={node.at} />
        </span>{" "}
        {node.state === "gone" ? <span class="badge">no longer kept</span> : null}
        {isCurrent ? <span class="badge ok">you are here{sinceText(lineage, node)}</span> : null}
      </span>
      {actions && node.can_roll_back && node.name !== null ? (
        <span class="step-actions">
          <button type="button" disabled={actions.isBusy} onClick={() => actions.rollBack(node)}>
            Roll back<span class="visually-hidden"> to {shownName(node.name)}</span>
          </button>
          {mayDelete ? (
            <button type="button" class="danger" disabled={actions.isBusy} onClick={() => actions.remove(node)}>
              Delete<span class="visually-hidden"> {shownName(node.name)}</span>
            </button>
          ) : null}
        </span>
      ) : null}
    </div>
  );
}

function sinceText({ current }: Lineage, { run }: LineageNode): string {
  return current.run > run ? `, after run ${current.run}` : "";
}

function StepText({ node: { kind, name, session_id }, session }: { node: LineageNode; session: SessionRef }) {
  const other =
    session_id === null ? null : (
      <a href={hrefOf({ page: "session", session: { ...session, id: session_id }, panel: "checkpoints" })}>
        {shownName(session_id)}
      </a>
    );
  const shown = name === null ? null : <strong>{shownName(name)}</strong>;
  switch (kind) {
    case "start":
      return other ? <>Forked from session {other}</> : <>Start</>;
    case "checkpoint":
      return <>Checkpoint {shown}</>;
    case "rollback":
      return shown ? <>Rolled back to {shown}</> : <>Undone</>;
    case "reset":
      return <>Variables cleared</>;
    case "fork":
      return <>Forked as session {other}</>;
    case "restored":
      return <>Restored from a save, or after a crash</>;
  }
}
