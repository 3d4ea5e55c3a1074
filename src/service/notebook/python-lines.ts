/** A line of Python code; `isStart`: a statement may begin here, because no string, bracket or backslash is open. */
export interface PythonLine {
  readonly text: string;
  readonly isStart: boolean;
}

/** Splits code into lines and says where statements begin. A heuristic, not a parser: enough to find lines that are no Python. */
export function pythonLines(code: string): PythonLine[] {
  const state: ScanState = { quote: "", brackets: 0, isContinued: false };
  return code.split(/\r\n|\n/).map((text) => {
    const isStart = state.quote === "" && state.brackets === 0 && !state.isContinued;
    // A line that is no Python opens nothing: `!echo "it's` or `%cd (x`.
    if (!isStart || !/^\s*[!%?]/.test(text)) scanLine(text, state);
    return { text, isStart };
  });
}

interface ScanState {
  /** the quotes of the open string */
  quote: string;
  brackets: number;
  isContinued: boolean;
}

function scanLine(text: string, state: ScanState): void {
  state.isContinued = false;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === "\\") {
      if (at === text.length - 1) state.isContinued = true;
      if (state.quote !== "") at++;
    } else if (state.quote !== "") {
      if (!text.startsWith(state.quote, at)) continue;
      at += state.quote.length - 1;
      state.quote = "";
    } else if (character === "#") return;
    else if (character === '"' || character === "'") {
      state.quote = text.startsWith(character.repeat(3), at) ? character.repeat(3) : character;
      at += state.quote.length - 1;
    } else if ("([{".includes(character)) state.brackets++;
    else if (")]}".includes(character)) state.brackets = Math.max(0, state.brackets - 1);
  }
  // Only a string with three quotes goes on in the next line, or one whose line ends with a backslash.
  if (state.quote.length === 1 && !state.isContinued) state.quote = "";
}
