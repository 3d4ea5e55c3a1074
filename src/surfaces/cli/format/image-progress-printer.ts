import type { ImageProgress } from "../../../sessions/container-images.ts";
import type { Output } from "../shell/terminal.ts";
import { safeText } from "./text/safe-text.ts";

/**
 * Shows the progress of a build on stderr: one line per step. On a terminal, each line has the time since the start, and a
 * live line shows the current detail. Its clock runs on while the build prints nothing.
 */
export class ImageProgressPrinter implements Disposable {
  readonly #stderr: Output;
  readonly #isVerbose: boolean;
  readonly #now: () => number;
  readonly #startedMs: number;
  readonly #clock: NodeJS.Timeout | undefined;
  #hasLiveLine = false;
  #detail = "";

  constructor(stderr: Output, { verbose, now = () => performance.now() }: { verbose: boolean; now?: () => number }) {
    this.#stderr = stderr;
    this.#isVerbose = verbose;
    this.#now = now;
    this.#startedMs = now();
    if (stderr.isTTY && !verbose) this.#clock = setInterval(() => this.#tick(), clockMs).unref();
  }

  print({ type, text }: ImageProgress): void {
    const safe = safeText(text);
    if (type !== "detail") {
      this.#detail = "";
      const step = shorten(safe, this.#isVerbose ? Number.POSITIVE_INFINITY : 110);
      this.#line(`codecell: ${this.#stderr.isTTY ? `[${this.#time()}] ` : ""}${step}`);
      this.#tick();
    } else if (this.#isVerbose) this.#line(`  ${safe}`);
    else {
      this.#detail = safe;
      this.#tick();
    }
  }

  /** Removes the live line. */
  clear(): void {
    if (this.#hasLiveLine) this.#stderr.write("\r\u001b[2K");
    this.#hasLiveLine = false;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#clock);
    this.clear();
  }

  #line(text: string): void {
    this.clear();
    this.#stderr.write(`${text}\n`);
  }

  #tick(): void {
    if (!this.#stderr.isTTY || this.#isVerbose) return;
    const text = shorten(`  ${this.#time()}  ${this.#detail}`.trimEnd(), this.#stderr.columns - 1);
    this.#stderr.write(`\r\u001b[2K${text}`);
    this.#hasLiveLine = true;
  }

  /** Minutes and seconds since the start. */
  #time(): string {
    const seconds = Math.floor((this.#now() - this.#startedMs) / 1000);
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  }
}

const clockMs = 1_000;

function shorten(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, Math.max(0, width - 1))}…` : text;
}
