/** JSON with a line for each value, and whether lines are left out. */
export interface PrettyJson {
  readonly text: string;
  readonly isCut: boolean;
}

const deepestIndent = 20;

/**
 * Pure: JSON with line ends and indents. It works on the text, so that large numbers and keys that appear twice stay as they are, and
 * its result is bounded: text of many levels would grow with their square. Undefined: the text is not JSON.
 */
export function prettyJson(json: string, maxLines = 5_000): PrettyJson | undefined {
  if (!isJson(json)) return undefined;
  const lines: string[] = [];
  let line = "";
  let depth = 0;
  const endLine = () => {
    lines.push(line);
    line = "  ".repeat(Math.min(depth, deepestIndent));
  };
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/gs)) {
    if (lines.length >= maxLines) return { text: lines.join("\n"), isCut: true };
    const last = line.at(-1);
    const isOpen = last === "{" || last === "[";
    if (token === "}" || token === "]") {
      depth--;
      if (!isOpen) endLine();
      line += token;
    } else {
      if (isOpen) endLine();
      line += token === ":" ? ": " : token;
      if (token === ",") endLine();
      if (token === "{" || token === "[") depth++;
    }
  }
  return { text: [...lines, line].join("\n"), isCut: false };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
