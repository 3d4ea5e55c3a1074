import type { SessionRef } from "../../api/client.ts";
import { ErrorBox } from "../../parts/error-box.tsx";
import { hasScope } from "../../parts/load/scope.ts";
import { useLoad } from "../../parts/load/use-load.ts";
import { formatCount, plural } from "../../parts/text/format.ts";
import { prettyJson } from "../../parts/text/pretty-json.ts";
import { shownName, shownText } from "../../parts/text/shown-name.ts";
import { readValue, type ValuePreview } from "./read-value.ts";

/** The beginning of one value. It is read again after each run. */
export function ValueView({
  session,
  name,
  isBusy,
  round,
  close,
}: {
  session: SessionRef;
  name: string;
  isBusy: boolean;
  round: number;
  close: () => void;
}) {
  const load = async (signal: AbortSignal) =>
    isBusy ? undefined : await readValue(session, name, hasScope("run"), signal);
  const { loaded, reload } = useLoad(load, [session.id, session.namespace, name, isBusy, round]);
  const shown = shownName(name);
  return (
    <section class="card value-view" aria-label={`Value of ${shown}`} aria-live="polite">
      <div class="panel-bar">
        <h2 class="grows any-text">{shown}</h2>
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
      {isBusy ? <p class="quiet">The value appears when the run ends.</p> : null}
      {loaded.state === "loading" ? <p class="quiet">Reading…</p> : null}
      {loaded.state === "failed" ? <ErrorBox error={loaded.error} retry={reload} /> : null}
      {loaded.state === "ready" && loaded.value ? <Value value={loaded.value} /> : null}
    </section>
  );
}

function Value({ value: { form, text, characters, isCut } }: { value: ValuePreview }) {
  const pretty = form === "json" && !isCut ? prettyJson(text, 2_000) : undefined;
  const whole = characters === undefined ? "the value is longer" : `of ${plural(characters, "character")}`;
  return (
    <>
      <p class="quiet">
        {form === "json" ? "As JSON" : "As Python shows it"}
        {isCut ? `: the first ${formatCount(text.length)}, ${whole}` : ""}
        {pretty?.isCut ? ": the first 2,000 lines" : ""}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard */}
      <pre tabIndex={0}>{shownText(pretty?.text ?? text, 100_000)}</pre>
    </>
  );
}
