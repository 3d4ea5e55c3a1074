import { plural } from "../../../parts/text/format.ts";
import { shownText } from "../../../parts/text/shown-name.ts";
import type { NotebookCell, NotebookOutput, NotebookView } from "./notebook.ts";

/** A notebook: code and text as they were written, outputs as text and images. */
export function Notebook({ notebook: { cells, leftOut } }: { notebook: NotebookView }) {
  return (
    <div class="notebook">
      <p class="quiet">
        {plural(cells.length + leftOut, "cell")}
        {leftOut > 0 ? `; the first ${cells.length} are shown` : ""}
      </p>
      <ol>
        {cells.map((cell, index) => (
          <li key={index}>
            <Cell cell={cell} />
          </li>
        ))}
      </ol>
    </div>
  );
}

function Cell({ cell: { kind, source, outputs } }: { cell: NotebookCell }) {
  return (
    <div class={`notebook-cell ${kind}`}>
      <span class="badge">{kind}</span>
      <pre>{shownText(source, 20_000)}</pre>
      {outputs.map((output, index) => (
        <Output key={index} output={output} />
      ))}
    </div>
  );
}

function Output({ output }: { output: NotebookOutput }) {
  if (output.kind === "image") return <img src={output.url} alt="Output of the cell" />;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard
    <pre class={output.isError ? "output failed" : "output"} tabIndex={0}>
      {shownText(output.text, 20_000)}
    </pre>
  );
}
