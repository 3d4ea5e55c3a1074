import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type ApiError, asApiError } from "../../api/api-error.ts";
import { getJson, type SessionRef, sessionPath } from "../../api/client.ts";
import { ErrorBox } from "../../parts/error-box.tsx";
import { saveBlob } from "../../parts/load/save-file.ts";
import { plural } from "../../parts/text/format.ts";
import { LongText } from "../../parts/text/long-text.tsx";
import { shownName, shownText } from "../../parts/text/shown-name.ts";
import { theme } from "../../state/theme.ts";
import { decodeBytes, frameHeight, plainText, pngSize, type ShownDisplay, shownDisplay } from "./display-forms.ts";
import { recordsOf } from "./records.ts";
import type { DisplayBlock } from "./run-outputs.ts";

interface DisplayProps {
  readonly session: SessionRef;
  readonly block: DisplayBlock;
  /** another number when the display has a form more */
  readonly version: number;
  /** undefined: the run has not ended, and its number is not known */
  readonly run: number | undefined;
}

/** A value that a program displayed. */
export function DisplayView({ session, block, run }: DisplayProps) {
  const shown = useMemo(() => shownDisplay(block.forms), [block, block.forms.size]);
  const name = `display ${block.display}${run === undefined ? "" : ` of run ${run}`}`;
  if (shown.as === "picture") return <Picture {...shown} name={name} />;
  if (shown.as === "json") return <Json value={shown.value} text={shown.text} name={name} />;
  if (shown.as === "text") return <LongText text={shown.text} class="display-text" />;
  if (shown.as === "frame") {
    const text = plainText(block.forms);
    if (run === undefined) {
      return <LongText text={text ?? "This display is shown when the run has ended."} class="display-text" />;
    }
    return (
      <div class="display">
        <Frame session={session} shown={shown} run={run} display={block.display} name={name} />
        {text === undefined ? null : (
          <details>
            <summary>As text</summary>
            <LongText text={text} class="display-text" />
          </details>
        )}
      </div>
    );
  }
  return (
    <p class="note">
      A display ({shown.mimeTypes.map((type) => shownName(type, 60)).join(", ")}) is too large, or the page cannot show
      it. The exported notebook contains it.
    </p>
  );
}

function Picture({ mimeType, base64, name }: { mimeType: string; base64: string; name: string }) {
  const bytes = useMemo(() => decodeBytes(base64), [base64]);
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type: mimeType }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, mimeType]);
  const extension = mimeType.slice("image/".length);
  return (
    <figure class="display picture">
      <img src={url} alt={`Picture: ${name}`} decoding="async" {...pngSize(bytes)} />
      <figcaption>
        <button type="button" onClick={() => saveBlob(new Blob([bytes], { type: mimeType }), `${name}.${extension}`)}>
          Download<span class="visually-hidden"> {name}</span>
        </button>
      </figcaption>
    </figure>
  );
}

type FrameState =
  | { readonly state: "waiting" }
  | { readonly state: "ready"; readonly path: string }
  | { readonly state: "failed"; readonly error: ApiError };

/**
 * HTML or SVG of a program. The attack: markup that runs scripts or sends data. It is loaded by a signed link, into a frame without any
 * right, and its own content security policy allows neither scripts nor requests.
 */
function Frame({
  session,
  shown,
  run,
  display,
  name,
}: {
  session: SessionRef;
  shown: Extract<ShownDisplay, { as: "frame" }>;
  run: number;
  display: number;
  name: string;
}) {
  const place = useRef<HTMLDivElement>(null);
  const [frame, setFrame] = useState<FrameState>({ state: "waiting" });
  const [round, setRound] = useState(0);
  const { mimeType } = shown;
  useEffect(() => {
    const leaving = new AbortController();
    const load = async () => {
      const json = { run, display, mime_type: mimeType };
      const path = sessionPath(session, "/displays");
      const { url } = await getJson<{ url: string }>(path, { method: "POST", json, signal: leaving.signal });
      const { pathname } = new URL(url, location.origin); // the page's own origin, whatever the public URL is
      if (!pathname.startsWith("/v1/display/")) throw new Error("this is not a link to a display");
      setFrame({ state: "ready", path: `${pathname}${themeFragment()}` });
    };
    const watcher = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watcher.disconnect();
      load().catch((thrown: unknown) => {
        if (!leaving.signal.aborted) setFrame({ state: "failed", error: asApiError(thrown) });
      });
    });
    if (place.current) watcher.observe(place.current);
    return () => {
      watcher.disconnect();
      leaving.abort();
    };
  }, [session.id, session.namespace, run, display, mimeType, round]);
  const height = useMemo(() => frameHeight(shown.source), [shown.source]);
  return (
    <div class="frame" ref={place} style={{ height: `${height}px` }}>
      {frame.state === "ready" ? (
        <iframe sandbox="" src={frame.path} title={`HTML: ${name}`} referrerpolicy="no-referrer" />
      ) : frame.state === "failed" ? (
        <ErrorBox error={frame.error} retry={() => setRound(round + 1)} />
      ) : null}
    </div>
  );
}

/** The theme of the page, for the style sheet of displays; without it, the frame follows the system. */
function themeFragment(): string {
  const now = theme.peek();
  return now === "system" ? "" : `#codecell-${now}`;
}

function Json({ value, text, name }: { value: unknown; text: string; name: string }) {
  const records = useMemo(() => recordsOf(value), [value]);
  if (!records) return <LongText text={text} class="display-text" />;
  const { columns, rows, total } = records;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reachable with the keyboard
    <section class="display scroll-x" tabIndex={0} aria-label={`Table: ${name}`}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {shownName(column, 60)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column}>{shownText(cell, 500)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {total > rows.length ? (
        <p class="quiet">
          The first {rows.length} of {plural(total, "row")}.
        </p>
      ) : null}
    </section>
  );
}
