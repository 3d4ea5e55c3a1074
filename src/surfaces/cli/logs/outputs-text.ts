/** Longer outputs are cut at their beginning: how a run ended is more interesting. */
const maxCharacters = 64 * 1024;

/**
 * The text of a run's outputs, in the notebook format: streams, results, displays and errors. Whatever has another shape is
 * left out, because a newer codecell may have written it.
 */
export function outputsText(outputs: unknown): string {
  if (!Array.isArray(outputs)) return "";
  const text = outputs.map(outputText).join("");
  return text.length <= maxCharacters ? text : `…\n${text.slice(-maxCharacters)}`;
}

function outputText(output: unknown): string {
  if (typeof output !== "object" || output === null) return "";
  const { output_type: type, text, data, traceback, ename, evalue } = output as Record<string, unknown>;
  if (type === "stream") return joined(text);
  if (type === "error") {
    const lines = Array.isArray(traceback) ? traceback.filter((line) => typeof line === "string") : [];
    return lines.length > 0 ? ended(lines.join("\n")) : ended([ename, evalue].filter(Boolean).join(": "));
  }
  if (type !== "execute_result" && type !== "display_data") return "";
  const forms = typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {};
  const plain = joined(forms["text/plain"]);
  if (plain !== "") return ended(plain);
  const [kind] = Object.keys(forms);
  return kind === undefined ? "" : `[${kind}]\n`;
}

/** Notebooks write a text as one string or as a list of its lines. */
function joined(text: unknown): string {
  if (typeof text === "string") return text;
  return Array.isArray(text) ? text.filter((line) => typeof line === "string").join("") : "";
}

function ended(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
