const prompts = [
  /** Python's own prompt, and doctests */
  { first: /^\s*>>> ?/, more: /^\s*\.\.\. ?/ },
  /** IPython and Jupyter's console */
  { first: /^\s*In ?\[\d+\]: ?/, more: /^\s*\.{3,}: ?/ },
] as const;

/** Invisible characters besides tabs. The attack: pasted text that moves the cursor and shows another line than it runs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u2028-\u202e\u2060-\u206f\ufeff]/g;

/**
 * Pure: pasted text as lines of code. `isBlockStart`: it is pasted at the first prompt, into an empty line, so that its
 * indentation is where it was copied from. Line breaks at the end are dropped: a paste never runs by itself.
 */
export function pastedLines(text: string, isBlockStart: boolean): string[] {
  const lines = text.replace(/\r\n?/g, "\n").replace(control, "").replace(/\s+$/, "").split("\n");
  while (lines.length > 1 && lines[0]?.trim() === "") lines.shift();
  const code = withoutPrompts(lines);
  return isBlockStart ? withoutIndentation(code) : code;
}

/** Code that was copied with its prompts. The lines without a prompt are what the code printed. */
function withoutPrompts(lines: readonly string[]): string[] {
  const kind = prompts.find(({ first }) => first.test(lines[0] ?? ""));
  if (!kind) return [...lines];
  return lines.flatMap((line) => {
    const prompt = kind.first.exec(line) ?? kind.more.exec(line);
    return prompt ? [line.slice(prompt[0].length)] : [];
  });
}

/** Pure: removes the indentation of the first line from all lines that have it. */
export function withoutIndentation(lines: readonly string[]): string[] {
  const indentation = /^\s*/.exec(lines[0] ?? "")?.[0] ?? "";
  return lines.map((line) => (line.startsWith(indentation) ? line.slice(indentation.length) : line));
}
