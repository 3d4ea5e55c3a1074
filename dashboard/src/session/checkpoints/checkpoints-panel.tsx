import { pathPart } from "../../api/path-part.ts";
import "../../parts/panel.css";
import "./checkpoints.css";
import { useState } from "preact/hooks";
import type { WireUndo } from "../../../../src/service/wire/sessions/undo.ts";
import { call, getJson, type SessionRef, sessionPath } from "../../api/client.ts";
import { useAskName } from "../../parts/dialog/ask-name.tsx";
import { useConfirm } from "../../parts/dialog/confirm.tsx";
import { ErrorBox } from "../../parts/error-box.tsx";
import { hasScope } from "../../parts/load/scope.ts";
import { useAction } from "../../parts/load/use-action.ts";
import { useLiveLoad } from "../../parts/load/use-live-load.ts";
import { shownName } from "../../parts/text/shown-name.ts";
import { hrefOf } from "../../state/route.ts";
import { whyNoUndo } from "../../state/service.ts";
import type { Lineage, LineageNode } from "./lineage.ts";
import { LineageTree } from "./lineage-tree.tsx";

const changing = /^(?:session\.|run\.ended$)/;
const filesStay = "Files do not change.";

/** Checkpoints, rollbacks and forks as a tree, and the buttons that make them. */
export function CheckpointsPanel({ session }: { session: SessionRef }) {
  const { loaded, reload } = useLiveLoad(
    session,
    (signal) => getJson<Lineage>(sessionPath(session, "/lineage"), { signal }),
    ({ type }) => changing.test(type),
  );
  const { run, isBusy, error } = useAction();
  const [confirm, dialog] = useConfirm();
  const [said, setSaid] = useState("");
  const [askName, nameDialog] = useAskName();

  const act = (rest: string, options: { method: "POST" | "DELETE"; json?: unknown }, done: string) =>
    run(async (signal) => {
      await call(sessionPath(session, rest), { ...options, signal });
      setSaid(done);
      reload();
    });
  const rollBack = async ({ name, run: number }: LineageNode) => {
    if (name === null) return;
    const since = loaded.state === "ready" ? loaded.value.current.run : number;
    const body = `Variables get the values they had after run ${number}${
      since > number ? `; what runs ${number + 1} to ${since} did to them will be lost` : ""
    }. Make a checkpoint first if you need the present state. ${filesStay}`;
    if (await confirm({ title: `Roll back to ${shownName(name, 60)}?`, body, action: "Roll back" })) {
      await act(`/checkpoints/${pathPart(name)}/rollback`, { method: "POST" }, `Rolled back to ${shownName(name)}.`);
    }
  };
  const remove = async ({ name, run: number }: LineageNode) => {
    if (name === null) return;
    const body = `Nobody can roll back to the state after run ${number} any more. The variables of now do not change.`;
    if (await confirm({ title: `Delete the checkpoint ${shownName(name, 60)}?`, body, action: "Delete" })) {
      await act(`/checkpoints/${pathPart(name)}`, { method: "DELETE" }, `Deleted ${shownName(name)}.`);
    }
  };
  const undo = async () => {
    const body = `Variables get the values they had before the last run. ${filesStay}`;
    if (!(await confirm({ title: "Undo the last run?", body, action: "Undo" }))) return;
    await run(async (signal) => {
      const { run: undone, left } = await getJson<WireUndo>(sessionPath(session, "/undo"), { method: "POST", signal });
      setSaid(`Run ${undone} is undone; ${left === 0 ? "no" : left} more can be.`);
      reload();
    });
  };
  const create = async () => {
    const name = await askName({
      ...{ title: "Create a checkpoint", label: "Name of the checkpoint", action: "Create" },
      hint: `Letters, digits, dots, dashes and underscores. It keeps the variables of now; one with the same name is replaced. ${filesStay}`,
    });
    if (name !== undefined) {
      await act("/checkpoints", { method: "POST", json: { name } }, `Created ${shownName(name)}.`);
    }
  };
  const fork = async () => {
    const id = await askName({
      ...{ title: "Fork this session", label: "Id of the new session", action: "Fork", isOptional: true },
      hint: "It starts with these variables. Both share files, memory and CPUs. Without an id it gets a random one.",
    });
    if (id === undefined) return;
    await run(async (signal) => {
      const options = { method: "POST", json: id === "" ? {} : { session_id: id }, signal } as const;
      const made = await getJson<{ session_id: string }>(sessionPath(session, "/fork"), options);
      const to = { ...session, id: made.session_id };
      location.hash = hrefOf({ page: "session", session: to, panel: "checkpoints" });
    });
  };
  const mayRun = hasScope("run");
  return (
    <>
      {dialog}
      {nameDialog}
      {mayRun ? (
        <div class="panel-bar">
          <button type="button" class="primary" onClick={create} disabled={isBusy}>
            Create checkpoint
          </button>
          <button
            type="button"
            title={whyNoUndo.value}
            aria-disabled={whyNoUndo.value !== undefined}
            onClick={() => (whyNoUndo.value === undefined ? void undo() : setSaid(whyNoUndo.value))}
            disabled={isBusy}
          >
            Undo last run
          </button>
          <button type="button" onClick={fork} disabled={isBusy}>
            Fork
          </button>
          <span role="status" class="quiet any-text">
            {isBusy ? "Working…" : said}
          </span>
        </div>
      ) : (
        <p class="quiet">To roll back or fork, the token needs the scope run.</p>
      )}
      {error ? <ErrorBox error={error} /> : null}
      {loaded.state === "loading" ? <p class="quiet">Loading…</p> : null}
      {loaded.state === "failed" ? <ErrorBox error={loaded.error} retry={reload} /> : null}
      {loaded.state === "ready" ? (
        <>
          {loaded.value.nodes.some(({ kind }) => kind === "checkpoint") ? null : (
            <p class="quiet">There are no checkpoints. Create one before a run that may go wrong.</p>
          )}
          <LineageTree
            lineage={loaded.value}
            session={session}
            actions={mayRun ? { isBusy, rollBack, remove } : undefined}
          />
        </>
      ) : null}
    </>
  );
}
