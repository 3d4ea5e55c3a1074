/** Escape codes that `cli/style.ts` uses, and their colours in the picture. `undefined` resets the colour. */
const colours = new Map([
  [0, {}],
  [1, { weight: "bold" }],
  [2, { colour: "dim" }],
  [22, { colour: undefined, weight: undefined }],
  [31, { colour: "red" }],
  [32, { colour: "green" }],
  [33, { colour: "yellow" }],
  [39, { colour: undefined }],
]);

/** Splits text into lines of styled characters. Throws at an unknown escape sequence, which would be drawn as text. */
export function styledLines(text) {
  let style = {};
  const lines = [[]];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ESC is what starts a sequence
  for (const [piece, codes] of text.matchAll(/\u001b\[([\d;]*)m|[\s\S]/gu)) {
    if (piece === "\n") lines.push([]);
    else if (codes !== undefined) for (const code of codes.split(";")) style = changed(style, Number(code));
    else if (piece < " ") throw new Error(`the recording has a control character: ${JSON.stringify(piece)}`);
    else lines.at(-1).push({ character: piece, ...style });
  }
  return lines;
}

function changed(style, code) {
  const change = colours.get(code);
  if (change === undefined) throw new Error(`the recording has an escape sequence that is not drawn: ${code}`);
  return code === 0 ? {} : { ...style, ...change };
}
