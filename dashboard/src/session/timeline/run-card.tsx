import { useEffect, useState } from "preact/hooks";
import type { SessionRef } from "../../api/client.ts";
import { Fenced } from "../../parts/fenced.tsx";
import { Ago } from "../../parts/text/ago.tsx";
import { AnsiOutput } from "../../parts/text/ansi-output.tsx";
import { Code } from "../../parts/text/code.tsx";
import { formatBytes, formatDuration } from "../../parts/text/format.ts";
import { LongText } from "../../parts/text/long-text.tsx";
import { shownName, shownText } from "../../parts/text/shown-name.ts";
import { plainText } from "./display-forms.ts";
import { DisplayView } from "./display-view.tsx";
import { RunErrorView } from "./run-error.tsx";
import type { TimelineRun } from "./timeline-run.ts";

const badgeOf: Readonly<Record<string, string>> = {
  ok: "ok",
  running: "info pulse",
  interrupted: "warn",
  cancelled: "warn",
  output_limit: "warn",
};

/** One run: its code, what it printed and displayed, and how it ended. */
export function RunCard({ session, run }: { session: SessionRef; run: TimelineRun }) {
  const { number, outputs } = run;
  const version = run.version.value; // a change draws this card again, and no other
  const title = number === undefined ? "Run" : `Run ${number}`;
  return (
    <li class={`run ${run.isRunning ? "is-running" : ""}`} aria-label={title}>
      <header>
        <h2>{title}</h2>
        <span class="quiet">{shownName(run.language, 40)}</span>
        <span class={`badge ${badgeOf[run.status] ?? "bad"}`}>{shownName(run.status, 40).replaceAll("_", " ")}</span>
        {run.durationMs === undefined ? (
          <Elapsed startedMs={run.startedMs} />
        ) : (
          <span class="quiet number">{formatDuration(run.durationMs)}</span>
        )}
        {run.endedAt === undefined ? null : (
          <span class="quiet">
            <Ago at={run.endedAt} />
          </span>
        )}
      </header>
      {run.code === undefined ? (
        <p class="note">Its code is shown when the run has ended.</p>
      ) : (
        <Code code={shownText(run.code, 100_000)} language={run.language} />
      )}
      {outputs?.blocks.map((block, index) =>
        block.kind === "text" ? (
          <AnsiOutput
            key={index}
            text={block.text}
            version={version}
            stream={block.stream}
            name={`${session.id} ${title} ${block.stream}`}
          />
        ) : (
          <Fenced key={index}>
            <DisplayView session={session} block={block} version={version} run={run.isRunning ? undefined : number} />
          </Fenced>
        ),
      )}
      {outputs === undefined ? <p class="note">Its output is no longer kept.</p> : null}
      {run.value === null || isDisplayed(run) ? null : <LongText text={run.value} class="value" />}
      {run.error ? <RunErrorView error={run.error} /> : null}
      {run.stoppedAtLine === null ? null : <p class="note">It stopped at line {run.stoppedAtLine}.</p>}
      {run.leftOutBytes > 0 ? <p class="note">{formatBytes(run.leftOutBytes)} of its output were not kept.</p> : null}
      {run.notes.length === 0 ? null : (
        <ul class="notes">
          {run.notes.slice(0, 50).map((note, index) => (
            <li key={index}>{shownText(note, 1_000)}</li>
          ))}
        </ul>
      )}
    </li>
  );
}

/** Whether a display shows the value of the run already, as that of a DataFrame does. */
function isDisplayed({ outputs, value }: TimelineRun): boolean {
  return (
    outputs?.blocks.some((block) => block.kind === "display" && plainText(block.forms)?.trim() === value?.trim()) ===
    true
  );
}

/** How long a run has been running. */
function Elapsed({ startedMs }: { startedMs: number }) {
  const [, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTick((tick) => tick + 1), 500);
    return () => clearInterval(timer);
  }, []);
  return <span class="quiet number">{formatDuration(Math.floor((Date.now() - startedMs) / 500) * 500)}</span>;
}
