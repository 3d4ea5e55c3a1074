/** What stands before a line of a program that looks like one of ours. */
export const imitationMark = "\\";

/** Said at the end of the first line of an answer with marked lines: programs cannot write there. */
export const imitationNote = `lines after ${imitationMark} are the program's own`;

/** Lines that only codecell writes: headings, the status, progress, and what is said about pages and truncated output. */
const ours =
  /^lines after \\ are the program's own|^running for \d+ s$|^no line matches$|^(?:…|\.\.\.) ?[\d,.]+ (?:characters in total|lines match)|^\[ ?(?:stdout|stderr|value|traceback) had [\d,.]+ bytes|^\[ ?(?:notes|artifacts) ?\]|^\[ ?(?:traceback|value|stdout|stderr) ?\]:?$|^status: ?(?:ok|error|timeout|interrupted|out_of_memory|output_limit|crashed|cancelled|running)\b|^run_id:|^(?:…|\.\.\.) ?[\d,.]+ of [\d,.]+ characters left out|^(?:…|\.\.\.) ?(?:stdout|stderr) had |^(?:…|\.\.\.) ?truncated: ?[\d,.]+ characters/;
/** A cheap test, so that most output is not split into lines. */
const candidate =
  /[[［]|status|ｓ|run_id|characters (?:left|in total)|lines (?:match|after)|line matches|running for|had [\d,]+ bytes/i;
const longestLine = 200;
/** The lines of a failed call after its first one. */
const ofErrors = /^(?:cause|hint|next):/;

/**
 * Marks each line of a program's text that could be taken for one of ours. The attack: output with `[notes]` and a sentence
 * that a model then believes to be codecell's. No line of a program is left that looks like ours, whatever it prints.
 */
export function markImitations(text: string): string {
  if (!candidate.test(text)) return text;
  return text
    .split("\n")
    .map((line) => markLine(line, ours))
    .join("\n");
}

/** The same for the message of an error. The attack: an exception in a cell whose text has a line `next:` with an instruction. */
export function markInError(text: string): string {
  if (!text.includes("\n")) return text;
  return markImitations(text)
    .split("\n")
    .map((line) => markLine(line, ofErrors))
    .join("\n");
}

/** What a program wrote, below a line of ours if some of it had to be marked. For replies that begin with it. */
export function markedText(text: string): string[] {
  const safe = markImitations(text);
  return safe === text ? [text] : [imitationNote, safe];
}

function markLine(line: string, pattern: RegExp): string {
  return pattern.test(folded(line)) ? line.replace(/\S/u, (first) => `${imitationMark}${first}`) : line;
}

/** As a reader sees it: other widths, cases, spaces and invisible characters do not matter. */
function folded(line: string): string {
  return line
    .trimStart()
    .slice(0, longestLine)
    .normalize("NFKC")
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
    .replace(/\s+/g, " ")
    .trim()
    .replaceAll("...", "…")
    .toLowerCase();
}
