/** What a reply of the root model asks to run. */
export type ReplyCode =
  | {
      readonly kind: "code";
      readonly code: string /** later blocks of Python, which do not run */;
      readonly ignored: number;
    }
  | { readonly kind: "wrong_language"; readonly language: string }
  | { readonly kind: "none" };

const pythonNames: ReadonlySet<string> = new Set(["", "python", "py", "python3", "py3", "repl"]);
const opening = /^[ \t]{0,3}(`{3,})/;

/**
 * The first block of Python in a reply. Another language is an error for the model to correct, because its code would run as
 * Python. A block that is not closed counts up to the end.
 */
export function codeInReply(reply: string): ReplyCode {
  const blocks = fencedBlocks(reply);
  const python = blocks.filter(({ language, code }) => pythonNames.has(language) && code.trim() !== "");
  const [first] = python;
  if (first) return { kind: "code", code: first.code, ignored: python.length - 1 };
  const other = blocks.find(({ language }) => !pythonNames.has(language));
  return other ? { kind: "wrong_language", language: other.language } : { kind: "none" };
}

interface Block {
  readonly language: string;
  readonly code: string;
}

/** As in Markdown: a block ends at a line of at least as many backticks, so code may contain shorter ones. */
function fencedBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let open: { fence: string; language: string; lines: string[] } | undefined;
  for (const line of text.split(/\r?\n/)) {
    if (!open) {
      const [before = "", fence] = opening.exec(line) ?? [];
      const rest = line.slice(before.length);
      if (fence === undefined || rest.includes("`")) continue;
      const [language = ""] = rest.trim().split(/\s/, 1);
      open = { fence, language: language.toLowerCase(), lines: [] };
      continue;
    }
    const trimmed = line.trim();
    if (/^`{3,}$/.test(trimmed) && trimmed.length >= open.fence.length) {
      blocks.push({ language: open.language, code: open.lines.join("\n") });
      open = undefined;
    } else {
      open.lines.push(line);
    }
  }
  if (open) blocks.push({ language: open.language, code: open.lines.join("\n") });
  return withoutDecoration(blocks);
}

/** Some models put a whole answer into a bare fence; the block inside it is the one that counts. */
function withoutDecoration(blocks: readonly Block[]): Block[] {
  return blocks.flatMap((block) => {
    const inner = block.language === "" && /^\s*`{3,}\w/.test(block.code);
    return inner ? fencedBlocks(block.code) : [block];
  });
}
