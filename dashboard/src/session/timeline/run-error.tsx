import { plural } from "../../parts/text/format.ts";
import { LongText } from "../../parts/text/long-text.tsx";
import { shownName, shownText } from "../../parts/text/shown-name.ts";

/** Fewer frames are shown at once. */
const foldAbove = 6;

/** The exception that ended a program. */
export function RunErrorView({ error }: { error: { type: string; message: string; traceback: string } }) {
  const frames = error.traceback.match(/^ {2}File /gm)?.length ?? 0;
  return (
    <div class="run-error">
      <p>
        <strong>{shownName(error.type)}</strong>
        {error.message === "" ? null : `: ${shownText(error.message, 2_000)}`}
      </p>
      {error.traceback === "" ? null : (
        <details open={frames <= foldAbove}>
          <summary>Traceback{frames > 0 ? ` (${plural(frames, "frame")})` : ""}</summary>
          <LongText text={error.traceback.replace(/^Traceback \(most recent call last\):\n/, "")} class="traceback" />
        </details>
      )}
    </div>
  );
}
