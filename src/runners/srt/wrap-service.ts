import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { z } from "zod";
import { deadline } from "../../lib/deadline.ts";
import { CodecellError } from "../../lib/errors.ts";
import { killGroup } from "../../lib/kill-group.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { collectText } from "../linux/collect-text.ts";
import type { SrtPackage } from "./package.ts";
import type { SrtSettings } from "./settings.ts";
import { wrapServiceScript } from "./wrap-service-script.ts";

export const searchPath = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

export interface WrapServiceParts {
  readonly srt: SrtPackage;
  /** an empty directory: srt searches the one it runs in before every wrap, and puts files into it */
  readonly directory: string;
  /** whom the cells belong to, when we are root */
  readonly uid: number | undefined;
  /** how long it may owe an answer */
  readonly timeoutMs?: number | undefined;
}

/** It answers within a tenth of a second, except on a machine that is busy. */
const defaultTimeoutMs = 30_000;
const givenUp = "the start was aborted";

const helloSchema = z.object({ errors: z.array(z.string()) });
const answerSchema = z.union([
  z.object({ id: z.int(), wrapped: z.string() }),
  z.object({ id: z.int(), problem: z.string() }),
]);
/** What has to stand in a wrapped command: srt goes on without a part of it that it does not find. */
const needed = ["--unshare-net", "--unshare-pid", "--unshare-user", "--cap-drop ALL", "apply-seccomp"];

/**
 * srt in a process of its own. Its configuration belongs to the whole process that loads it, and a host program may use it
 * for itself: in one process that program's allowed hosts would be open to our cells.
 */
export class WrapService implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #waiting = new Map<number, { resolve(wrapped: string): void; reject(error: Error): void }>();
  readonly #diagnostics: () => string;
  readonly #exited: Promise<unknown>;
  readonly #timeoutMs: number;
  #isLate = false;
  #next = 0;
  readonly #errors: Promise<readonly string[]>;

  constructor({ srt, directory, uid, timeoutMs = defaultTimeoutMs }: WrapServiceParts) {
    this.#timeoutMs = timeoutMs;
    const program = ["--input-type=module", "--eval", wrapServiceScript, srt.entryUrl];
    this.#child = spawn(process.execPath, program, {
      env: { PATH: searchPath, HOME: directory },
      cwd: directory,
      stdio: ["pipe", "pipe", "pipe"],
      detached: true, // a Ctrl-C in our terminal is ours to handle
      ...(uid === undefined ? {} : { uid, gid: uid }),
    });
    this.#diagnostics = collectText(this.#child.stderr);
    this.#child.stdin.on("error", () => {}); // its exit says why
    this.#exited = once(this.#child, "close").catch(() => {});
    const lines = createInterface({ input: this.#child.stdout });
    this.#errors = new Promise((resolve, reject) => {
      lines.on("line", (line) => {
        const hello = helloSchema.safeParse(parsed(line));
        if (hello.success) resolve(hello.data.errors);
        else this.#receive(line);
      });
      void this.#exited.then(() => {
        const error = this.#ended();
        reject(error);
        for (const one of this.#waiting.values()) one.reject(error);
        this.#waiting.clear();
      });
    });
    const limit = this.#limit();
    // whoever asks is told
    void this.#errors.catch(() => {}).finally(() => limit[Symbol.dispose]());
  }

  /** One that owes an answer for too long counts as gone: the next start gets another. */
  get isAlive(): boolean {
    return !this.#isLate && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** What srt says is missing on this machine. */
  missing(signal?: AbortSignal): Promise<readonly string[]> {
    return unlessAborted(this.#errors, signal, givenUp);
  }

  /** A shell command in, the same inside srt's sandbox out. `ended` is owed for each. */
  async wrap(command: string, settings: SrtSettings, signal?: AbortSignal): Promise<string> {
    await this.missing(signal);
    if (!this.isAlive) throw this.#ended();
    const answer = this.#ask(command, settings);
    const wrapped = await unlessAborted(answer, signal, givenUp).catch((error: unknown) => {
      void answer.then(() => this.ended()).catch(() => {}); // it may come when nobody waits any more
      throw error;
    });
    const lacking = needed.filter((part) => !wrapped.includes(part));
    if (lacking.length === 0) return wrapped;
    this.ended();
    throw new CodecellError("cell_start_failed", `sandbox-runtime left out ${lacking.join(", ")}`);
  }

  /** A wrapped command is over: srt removes what it left on the host for it. */
  ended(): void {
    if (this.isAlive) this.#child.stdin.write(`${JSON.stringify({ ended: true })}\n`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    const timer = setTimeout(() => killGroup(this.#child), 2_000);
    await this.#exited;
    clearTimeout(timer);
  }

  /** Its limit holds also when whoever asked has left: else callers of little patience would ask a dead one for ever. */
  async #ask(command: string, settings: SrtSettings): Promise<string> {
    using _ = this.#limit();
    const id = this.#next++;
    return await new Promise<string>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.stdin.write(`${JSON.stringify({ id, command, settings })}\n`);
    });
  }

  /** When it passes, the service is killed, and its exit tells whoever waits. SIGKILL also ends what is stopped. */
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
    if (!success) return; // something of srt prints: it is nothing for us
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ("wrapped" in answer) waiting?.resolve(answer.wrapped);
    else waiting?.reject(new CodecellError("cell_start_failed", `sandbox-runtime refused: ${answer.problem}`));
  }

  #ended(): CodecellError {
    if (this.#isLate) {
      const hint = "try again; if it fails again, run `codecell doctor`";
      const message = `sandbox-runtime did not answer within ${this.#timeoutMs} ms`;
      return new CodecellError("cell_start_failed", message, { hint });
    }
    const said = this.#diagnostics().trim().split("\n").filter(Boolean).at(-1) ?? "";
    return new CodecellError("cell_start_failed", `sandbox-runtime did not start${said ? `: ${said}` : ""}`);
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
