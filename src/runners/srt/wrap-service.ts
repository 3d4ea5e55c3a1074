import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import { killGroup } from "../../lib/kill-group.ts";
import { deadline } from "../../lib/waiting/deadline.ts";
import { unlessAborted } from "../../lib/waiting/unless-aborted.ts";
import { withStreams } from "../../lib/with-streams.ts";
import { collectText } from "../linux/collect-text.ts";
import type { SrtPackage } from "./package.ts";
import type { SrtSettings } from "./settings.ts";
import { wrapServiceScript } from "./wrap-service-script.ts";

export const searchPath = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

export interface WrapServiceParts {
  readonly srt: SrtPackage;
  /** an empty directory, because srt searches its working directory before every wrap, and writes files to it */
  readonly directory: string;
  /** the cells' uid, if codecell runs as root */
  readonly uid: number | undefined;
  /** timeout for an answer */
  readonly timeoutMs?: number | undefined;
}

/** It usually answers within 0.1 s, but a busy machine takes longer. */
const defaultTimeoutMs = 30_000;
const abortMessage = "the start was aborted";

const helloSchema = z.object({ errors: z.array(z.string()) });
const answerSchema = z.union([
  z.object({ id: z.int(), wrapped: z.string() }),
  z.object({ id: z.int(), problem: z.string() }),
]);
/** Required parts of a wrapped command, because srt silently leaves out isolation that is not available. */
const needed = ["--unshare-net", "--unshare-pid", "--unshare-user", "--cap-drop ALL", "apply-seccomp"];

/**
 * srt in a separate process. Its configuration is process-wide, and the host program may use srt itself: in the same
 * process, cells could reach the hosts that the host program allows.
 */
export class WrapService implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #waiting = new Map<number, { resolve(wrapped: string): void; reject(error: Error): void }>();
  readonly #diagnostics: () => string;
  readonly #exited: Promise<unknown>;
  readonly #timeoutMs: number;
  #isLate = false;
  #hasStarted = false;
  #isDisposed = false;
  #next = 0;
  readonly #errors: Promise<readonly string[]>;

  constructor({ srt, directory, uid, timeoutMs = defaultTimeoutMs }: WrapServiceParts) {
    this.#timeoutMs = timeoutMs;
    const program = ["--input-type=module", "--eval", wrapServiceScript, srt.entryUrl];
    const spawned = spawn(process.execPath, program, {
      env: { PATH: searchPath, HOME: directory },
      cwd: directory,
      stdio: ["pipe", "pipe", "pipe"],
      detached: true, // Ctrl-C in the terminal must not kill it; codecell handles it
      ...(uid === undefined ? {} : { uid, gid: uid }),
    });
    this.#child = withStreams(spawned);
    this.#diagnostics = collectText(this.#child.stderr);
    this.#child.stdin.on("error", () => {}); // its exit has the reason
    this.#exited = once(this.#child, "close").catch(() => {});
    const lines = createInterface({ input: this.#child.stdout });
    this.#errors = new Promise((resolve, reject) => {
      lines.on("line", (line) => {
        const hello = helloSchema.safeParse(parsed(line));
        if (!hello.success) return this.#receive(line);
        this.#hasStarted = true;
        resolve(hello.data.errors);
      });
      void this.#exited.then(() => {
        const error = this.#ended();
        reject(error);
        for (const one of this.#waiting.values()) one.reject(error);
        this.#waiting.clear();
      });
    });
    const limit = this.#limit();
    // callers get this error from `missing`
    void this.#errors.catch(() => {}).finally(() => limit[Symbol.dispose]());
  }

  /** False after a timeout, so that the next start uses a new process. */
  get isAlive(): boolean {
    return !this.#isLate && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Whether it worked and then ended by itself, or was killed by somebody else. */
  get hasVanished(): boolean {
    return this.#hasStarted && !this.#isLate && !this.#isDisposed && !this.isAlive;
  }

  /** What srt reports as missing on this machine. */
  missing(signal?: AbortSignal): Promise<readonly string[]> {
    return unlessAborted(this.#errors, signal, abortMessage);
  }

  /** Wraps a shell command so that it runs in srt's sandbox. Call `ended` after each wrapped command. */
  async wrap(command: string, settings: SrtSettings, signal?: AbortSignal): Promise<string> {
    await this.missing(signal);
    if (!this.isAlive) throw this.#ended();
    const answer = this.#ask(command, settings);
    const wrapped = await unlessAborted(answer, signal, abortMessage).catch((error: unknown) => {
      void answer.then(() => this.ended()).catch(() => {}); // the answer may arrive after the abort
      throw error;
    });
    const lacking = needed.filter((part) => !wrapped.includes(part));
    if (lacking.length === 0) return wrapped;
    this.ended();
    throw new CodecellError("cell_start_failed", `sandbox-runtime left out ${lacking.join(", ")}`);
  }

  /** Tells srt that a wrapped command has exited, so that it removes its files on the host. */
  ended(): void {
    if (this.isAlive) this.#child.stdin.write(`${JSON.stringify({ ended: true })}\n`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    this.#child.stdin.end();
    const timer = setTimeout(() => killGroup(this.#child), 2_000);
    await this.#exited;
    clearTimeout(timer);
  }

  /** The timeout applies even if the caller has aborted. Otherwise impatient callers would use a stuck process forever. */
  async #ask(command: string, settings: SrtSettings): Promise<string> {
    using _ = this.#limit();
    const id = this.#next++;
    return await new Promise<string>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.stdin.write(`${JSON.stringify({ id, command, settings })}\n`);
    });
  }

  /** After the timeout, the service is killed, and its exit rejects all requests. SIGKILL works on stopped processes too. */
  #limit(): Disposable {
    const limit = deadline(this.#timeoutMs);
    limit.signal.addEventListener("abort", () => {
      this.#isLate = true;
      killGroup(this.#child);
    });
    return limit;
  }

  #receive(line: string): void {
    const { success, data: answer } = answerSchema.safeParse(parsed(line));
    if (!success) return; // output of srt that is not an answer
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ("wrapped" in answer) waiting?.resolve(answer.wrapped);
    else
      waiting?.reject(
        new CodecellError("cell_start_failed", `sandbox-runtime refused: ${answer.problem}`, { hint: doctorHint }),
      );
  }

  #ended(): CodecellError {
    if (this.#isLate) {
      const message = `sandbox-runtime did not answer within ${this.#timeoutMs} ms`;
      return new CodecellError("cell_start_failed", message, { hint: doctorHint });
    }
    const lastLine = this.#diagnostics().trim().split("\n").filter(Boolean).at(-1) ?? "";
    const what = this.#hasStarted ? "ended unexpectedly" : "did not start";
    return new CodecellError("cell_start_failed", `sandbox-runtime ${what}${lastLine ? `: ${lastLine}` : ""}`, {
      hint: doctorHint,
    });
  }
}

const doctorHint = "try again; if it fails again, run `codecell doctor`";

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
