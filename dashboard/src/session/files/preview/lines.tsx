import { useShowMore } from "../../../parts/text/show-more.tsx";
import { shownText } from "../../../parts/text/shown-name.ts";

const maxLineCharacters = 5_000;

/** Text with the numbers of its lines. */
export function Lines({ text }: { text: string }) {
  const lines = text.replace(/\r?\n$/, "").split("\n");
  const [limit, more] = useShowMore(lines.length, 2_000);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard */}
      <section class="lines" aria-label="Content" tabIndex={0}>
        <ol>
          {lines.slice(0, limit).map((line, index) => (
            <li key={index}>
              <code>{shownText(line.replace(/\r$/, ""), maxLineCharacters)}</code>
            </li>
          ))}
        </ol>
      </section>
      {more}
    </>
  );
}
