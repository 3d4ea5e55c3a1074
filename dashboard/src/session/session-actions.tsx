import { useState } from "preact/hooks";
import type { WireCheckpoint } from "../../../src/service/wire/sessions/checkpoint.ts";
import type { WireSession } from "../../../src/service/wire/sessions/session.ts";
import type { WireSnapshot } from "../../../src/service/wire/sessions/snapshot.ts";
import type { WireUndo } from "../../../src/service/wire/sessions/undo.ts";
import { call, getJson, type SessionRef, sessionPath } from "../api/client.ts";
import { useAskName } from "../parts/dialog/ask-name.tsx";
import { type Question, useConfirm } from "../parts/dialog/confirm.tsx";
import { ErrorBox } from "../parts/error-box.tsx";
import { useAction } from "../parts/load/use-action.ts";
import { formatBytes, plural } from "../parts/text/format.ts";
import { shownName } from "../parts/text/shown-name.ts";
import { hrefOf } from "../state/route.ts";
import { whyNoUndo } from "../state/service.ts";

const undoQuestion: Question = {
  title: "Undo the last run?",
  body: <p>The variables go back to what they were before the last run. Files stay as they are.</p>,
  action: "Undo",
};
const resetQuestion: Question = {
  title: "Clear the variables?",
  body: <p>All variables of the session are lost. Files and checkpoints stay; a rollback brings back a checkpoint.</p>,
  action: "Reset",
};
const closeQuestion = (isPersistent: boolean): Question => ({
  title: "Close the session?",
  body: isPersistent ? (
    <p>A running run is stopped. The session is saved first, and the next call restores it.</p>
  ) : (
    <p>A running run is stopped. The variables and files of the session are lost: it is not persistent.</p>
  ),
  action: "Close",
});

interface ActionButton {
  readonly text: string;
  readonly action: () => Promise<void>;
  readonly look?: string;
  /** why it cannot be used now */
  readonly why?: string | undefined;
}

/** The buttons of a session. Each says what it did, or why it failed and what to do. */
export function SessionActions({
  session,
  now,
  hasCheckpoints,
  changed,
}: {
  session: SessionRef;
  now: WireSession;
  /** whether the panel below has the buttons for undo, fork and checkpoints */
  hasCheckpoints: boolean;
  changed: () => void;
}) {
  const [done, setDone] = useState("");
  const [confirm, confirmDialog] = useConfirm();
  const [askName, nameDialog] = useAskName();
  const { run, isBusy, error } = useAction();
  const path = (rest: string) => sessionPath(session, rest);
  const post = <T,>(rest: string, json: unknown, signal: AbortSignal) =>
    getJson<T>(path(rest), { method: "POST", json, signal });
  /** Does something and says what; undefined: it was not done after all. */
  const act = (action: (signal: AbortSignal) => Promise<string | undefined>) => async () => {
    setDone("");
    await run(async (signal) => setDone((await action(signal)) ?? ""));
    changed();
  };

  const undo = act(async (signal) => {
    if (!(await confirm(undoQuestion))) return undefined;
    const { run: number, left } = await post<WireUndo>("/undo", {}, signal);
    const more = left === 0 ? "No more runs can be undone." : `${plural(left, "more run", "more runs")} can be undone.`;
    return `Run ${number} was undone: the variables are those from before it. ${more}`;
  });
  const fork = act(async (signal) => {
    const name = await askName({
      title: "Fork the session",
      label: "Name of the new session",
      hint: "It starts with the variables of this one. Leave it empty for a random name.",
      action: "Fork",
      isOptional: true,
    });
    if (name === undefined) return undefined;
    const forked = await post<WireSession>("/fork", name === "" ? {} : { session_id: name }, signal);
    const { namespace } = session;
    location.hash = hrefOf({ page: "session", session: { id: forked.session_id, namespace }, panel: "timeline" });
    return undefined;
  });
  const checkpoint = act(async (signal) => {
    const name = await askName({
      title: "Create a checkpoint",
      label: "Name of the checkpoint",
      hint: "It keeps the variables as they are now. A rollback restores them.",
      action: "Create",
    });
    if (name === undefined) return undefined;
    const made = await post<WireCheckpoint>("/checkpoints", { name }, signal);
    return `Checkpoint ${shownName(made.name)} was created after run ${made.after_run}.`;
  });
  const save = act(async (signal) => {
    const { variables, skipped, size } = await post<WireSnapshot>("/save", {}, signal);
    const missing = skipped.slice(0, 5).map(({ name, reason }) => `${shownName(name)} (${shownName(reason)})`);
    const saved = `Saved ${plural(variables.length, "variable")}, ${formatBytes(size)}.`;
    return skipped.length === 0 ? saved : `${saved} ${skipped.length} cannot be saved: ${missing.join(", ")}.`;
  });
  const reset = act(async (signal) => {
    if (!(await confirm(resetQuestion))) return undefined;
    await call(path("/reset"), { method: "POST", json: {}, signal });
    return "The variables were cleared.";
  });
  const close = act(async (signal) => {
    if (!(await confirm(closeQuestion(now.persistent)))) return undefined;
    await call(path(""), { method: "DELETE", signal });
    location.hash = hrefOf({ page: "sessions" });
    return undefined;
  });
  const buttons: readonly ActionButton[] = [
    ...(hasCheckpoints
      ? []
      : [
          { text: "Undo", action: undo, why: whyNoUndo.value },
          { text: "Fork", action: fork },
          { text: "Checkpoint", action: checkpoint },
        ]),
    { text: "Save", action: save },
    { text: "Reset", action: reset, look: "danger" },
    { text: "Close", action: close, look: "danger" },
  ];
  return (
    <div class="session-actions">
      <div class="buttons">
        {buttons.map(({ text, action, look, why }) => (
          <button
            key={text}
            type="button"
            class={look}
            title={why}
            aria-disabled={isBusy || why !== undefined}
            onClick={() => (why === undefined ? void action() : setDone(why))}
          >
            {text}
          </button>
        ))}
      </div>
      <p class="quiet" role="status">
        {done}
      </p>
      {error ? <ErrorBox error={error} /> : null}
      {confirmDialog}
      {nameDialog}
    </div>
  );
}
