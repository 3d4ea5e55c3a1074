import { useState } from "preact/hooks";
import { formatCount } from "./format.ts";
import { shownText } from "./shown-name.ts";

const first = 4_000;
const most = 400_000;

/** Text from a cell: its beginning, and on demand the rest. */
export function LongText({ text, class: classes }: { text: string; class?: string }) {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > first + 500;
  return (
    <>
      <pre class={classes}>{shownText(text, isLong && !isWhole ? first : most)}</pre>
      {isLong && !isWhole ? (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          Show all {formatCount(text.length)} characters
        </button>
      ) : null}
    </>
  );
}
