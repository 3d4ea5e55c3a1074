/**
 * Lines of a table with a header, columns two spaces apart. The last column wraps at `width`, under its own start; when
 * too little room is left for it, it is not wrapped at all.
 */
export function tableLines(header: readonly string[], rows: readonly (readonly string[])[], width: number): string[] {
  const all = [header, ...rows];
  const last = header.length - 1;
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const start = widths.slice(0, last).reduce((sum, one) => sum + one + 2, 0);
  const room = width - start >= 24 ? width - start : Number.POSITIVE_INFINITY;
  return all.flatMap((row) => {
    const head = widths.slice(0, last).map((one, column) => `${(row[column] ?? "").padEnd(one)}  `);
    return wrapText(row[last] ?? "", room).map((line, index) =>
      `${index === 0 ? head.join("") : " ".repeat(start)}${line}`.trimEnd(),
    );
  });
}

/** Breaks text at spaces into lines of at most `width` characters; a longer word gets its own line. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}
