import { safeText } from "../format/text/safe-text.ts";
import type { Style } from "../format/text/style.ts";
import type { Output, Terminal } from "../shell/terminal.ts";

/** Colours one text when it passes: the traceback of the run that is being printed. The rest is the program's own output. */
export class ColouredTracebacks implements Output {
  readonly #output: Output;
  readonly #style: Style;
  #expected: string | undefined;

  constructor(output: Output, style: Style) {
    this.#output = output;
    this.#style = style;
  }

  get isTTY(): boolean {
    return this.#output.isTTY;
  }

  get columns(): number {
    return this.#output.columns;
  }

  /** The traceback that is printed next. */
  expect(traceback: string): void {
    this.#expected = safeText(traceback.trimEnd());
  }

  write(text: string): void {
    const expected = this.#expected;
    if (expected === undefined || !text.includes(expected)) {
      this.#output.write(text);
      return;
    }
    this.#expected = undefined;
    this.#output.write(text.replace(expected, () => colouredTraceback(expected, this.#style)));
  }

  writeBytes(bytes: Uint8Array): Promise<void> {
    return this.#output.writeBytes(bytes);
  }
}

/** The same terminal with another stderr. */
export function withStderr(terminal: Terminal, stderr: Output): Terminal {
  const { stdin, hasPipedStdin, stdout, interactive, env, cwd } = terminal;
  return {
    ...{ stdin, hasPipedStdin, stdout, stderr, env, cwd },
    ...(interactive ? { interactive } : {}),
    onSignal: (handler) => terminal.onSignal(handler),
    exitNow: (code) => terminal.exitNow(code),
  };
}

/** Pure: a traceback with colours for places, marks and the error. It has passed `safeText`. */
export function colouredTraceback(traceback: string, style: Style): string {
  return traceback
    .split("\n")
    .map((line) => {
      const place = /^(\s*File )(".*")(, line )(\d+)(.*)$/.exec(line);
      if (place) return `${place[1]}${style.green(`${place[2]}`)}${place[3]}${style.green(`${place[4]}`)}${place[5]}`;
      if (/^\s+[\^~]+\s*$/.test(line)) return style.red(line);
      if (/^\s/.test(line)) return line;
      const error = /^([\w.]+)(:.*)?$/.exec(line);
      if (error) return `${style.bold(style.red(`${error[1]}`))}${error[2] ?? ""}`;
      return line.startsWith("Traceback") ? style.dim(line) : line;
    })
    .join("\n");
}
