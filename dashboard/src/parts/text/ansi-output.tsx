import { useRef, useState } from "preact/hooks";
import "./ansi.css";
import { saveBlob } from "../load/save-file.ts";
import { type AnsiLine, type AnsiText, lineText } from "./ansi.ts";
import { formatCount, plural } from "./format.ts";
import { shownOrder } from "./shown-name.ts";

/** Longer output is folded: its beginning and its end are shown. */
const foldAbove = 200;
const atEnds = 50;
const step = 1_000;
const chunkLines = 100;

interface AnsiOutputProps {
  readonly text: AnsiText;
  /** another number when the text has changed */
  readonly version: number;
  /** for the name of a file */
  readonly name: string;
  readonly stream: "stdout" | "stderr";
}

/** Terminal output. What is long is folded; the browser lays out only the part that is on the screen. */
export function AnsiOutput({ text, version, name, stream }: AnsiOutputProps) {
  const [head, setHead] = useState(atEnds);
  const { lines, droppedLines, droppedCharacters } = text;
  const count = lines.length - (lines.at(-1)?.length === 0 ? 1 : 0);
  const isFolded = count > foldAbove && head + atEnds < count;
  const tailFrom = isFolded ? count - atEnds : count;
  return (
    <div class={`ansi output ${stream}`}>
      <Chunks text={text} version={version} from={0} to={isFolded ? head : count} />
      {isFolded ? (
        <>
          <p class="fold">
            <span>{plural(tailFrom - head, "line")} hidden</span>
            <button type="button" onClick={() => setHead(head + step)}>
              Show {formatCount(Math.min(step, tailFrom - head))} more
            </button>
            <button type="button" onClick={() => setHead(count)}>
              Show all {plural(count, "line")}
            </button>
            <button
              type="button"
              onClick={() =>
                saveBlob(new Blob([lines.map(lineText).join("\n")], { type: "text/plain" }), `${name}.txt`)
              }
            >
              Download
            </button>
          </p>
          <Chunks text={text} version={version} from={tailFrom} to={count} />
        </>
      ) : null}
      {droppedLines > 0 ? <p class="note">{plural(droppedLines, "line")} in the middle are not shown.</p> : null}
      {droppedCharacters > 0 ? (
        <p class="note">{plural(droppedCharacters, "character")} at the end of long lines are not shown.</p>
      ) : null}
    </div>
  );
}

/** Lines in groups. A group that is complete is never drawn again: a program may print for hours. */
function Chunks({ text, from, to }: { text: AnsiText; version: number; from: number; to: number }) {
  const drawn = useRef(new Map<string, preact.VNode>());
  const groups: preact.VNode[] = [];
  for (let start = from; start < to; ) {
    const end = Math.min(to, (Math.floor(start / chunkLines) + 1) * chunkLines);
    const key = `${text.droppedLines}:${start}:${end}`;
    const isComplete = end < text.lines.length && end - start === chunkLines;
    const known = isComplete ? drawn.current.get(key) : undefined;
    const group = known ?? (
      <pre key={key} class={end - start === chunkLines ? "chunk" : undefined}>
        {linesOf(text.lines.slice(start, end))}
      </pre>
    );
    if (isComplete) drawn.current.set(key, group);
    groups.push(group);
    start = end;
  }
  return <>{groups}</>;
}

/** Neighbouring plain text is one node. */
function linesOf(lines: readonly AnsiLine[]): preact.ComponentChildren[] {
  const shown: preact.ComponentChildren[] = [];
  let plain = "";
  for (const line of lines) {
    for (const { text: printed, style } of line) {
      const text = shownOrder(printed);
      if (style.classes === "" && style.color === undefined && style.background === undefined) {
        plain += text;
        continue;
      }
      if (plain !== "") shown.push(plain);
      plain = "";
      shown.push(
        <span class={style.classes} style={{ color: style.color, backgroundColor: style.background }}>
          {text}
        </span>,
      );
    }
    plain += "\n";
  }
  shown.push(plain);
  return shown;
}
