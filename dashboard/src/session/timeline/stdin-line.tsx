import { useEffect, useState } from "preact/hooks";
import { call, type SessionRef, sessionPath } from "../../api/client.ts";
import { pathPart } from "../../api/path-part.ts";
import { useAction } from "../../parts/load/use-action.ts";
import type { TimelineRun } from "./timeline-run.ts";

/** A short run needs no input: the field would only flicker. */
const appearMs = 300;

/** Sends lines to the standard input of a run. */
export function StdinLine({ session, run }: { session: SessionRef; run: TimelineRun }) {
  const [isShown, setShown] = useState(false);
  const [text, setText] = useState("");
  const [isEnded, setEnded] = useState(false);
  const { run: act, error } = useAction();
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), appearMs - (Date.now() - run.startedMs));
    return () => clearTimeout(timer);
  }, [run]);
  const send = (json: { text: string; end?: boolean }) =>
    act(async (signal) => {
      const path = sessionPath(session, `/runs/${pathPart(run.runId ?? "")}/stdin`);
      await call(path, { method: "POST", json, signal });
      setText("");
      if (json.end) setEnded(true);
    });
  if (!isShown) return null;
  if (isEnded) return <p class="quiet">The input has ended.</p>;
  return (
    <form
      class="stdin"
      onSubmit={(event) => {
        event.preventDefault();
        void send({ text: `${text}\n` });
      }}
    >
      <label for="stdin">Input for the program</label>
      <input
        id="stdin"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit">Send</button>
      <button type="button" onClick={() => void send({ text: "", end: true })}>
        End input
      </button>
      {error ? (
        <span role="alert" class="bad-text">
          {error.message}
        </span>
      ) : null}
    </form>
  );
}
