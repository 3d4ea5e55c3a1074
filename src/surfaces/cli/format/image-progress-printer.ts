import type { ImageProgress } from "../../../sessions/container-images.ts";
import type { Output } from "../shell/terminal.ts";
import { safeText } from "./safe-text.ts";

/** Shows the progress of a build on stderr: one line per step and, on a terminal, a live line for the current detail. */
export class ImageProgressPrinter implements Disposable {
  readonly #stderr: Output;
  readonly #isVerbose: boolean;
  #hasLiveLine = false;

  constructor(stderr: Output, { verbose }: { verbose: boolean }) {
    this.#stderr = stderr;
    this.#isVerbose = verbose;
  }

  print({ type, text }: ImageProgress): void {
    const safe = safeText(text);
    if (type !== "detail") this.#line(`codecell: ${shorten(safe, this.#isVerbose ? Number.POSITIVE_INFINITY : 110)}`);
    else if (this.#isVerbose) this.#line(`  ${safe}`);
    else if (this.#stderr.isTTY) this.#live(shorten(`  ${safe}`, this.#stderr.columns - 1));
  }

  /** Removes the live line. */
  clear(): void {
    if (this.#hasLiveLine) this.#stderr.write("\r\u001b[2K");
    this.#hasLiveLine = false;
  }

  [Symbol.dispose](): void {
    this.clear();
  }

  #line(text: string): void {
    this.clear();
    this.#stderr.write(`${text}\n`);
  }

  #live(text: string): void {
    this.#stderr.write(`\r\u001b[2K${text}`);
    this.#hasLiveLine = true;
  }
}

function shorten(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, Math.max(0, width - 1))}…` : text;
}
