import { useMemo } from "preact/hooks";
import "./code.css";
import { highlight } from "./highlight.ts";
import { shownText } from "./shown-name.ts";

/** The attack: code that looks different from what runs, by marks that change the direction of text (“Trojan Source”). */
const seen = (part: string) => shownText(part, Number.POSITIVE_INFINITY);

/** Code with colours. */
export function Code({ code, language }: { code: string; language: string }) {
  const parts = useMemo(() => {
    const shown: preact.ComponentChildren[] = [];
    let at = 0;
    for (const { from, to, kind } of highlight(code, language)) {
      if (from > at) shown.push(seen(code.slice(at, from)));
      shown.push(
        <span key={from} class={`tok-${kind}`}>
          {seen(code.slice(from, to))}
        </span>,
      );
      at = to;
    }
    shown.push(seen(code.slice(at)));
    return shown;
  }, [code, language]);
  return (
    <pre class="code">
      <code>{parts}</code>
    </pre>
  );
}
