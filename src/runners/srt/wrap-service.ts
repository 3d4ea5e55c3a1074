import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
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
}

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
  #next = 0;
  /** what srt says is missing on this machine */
  readonly errors: Promise<readonly string[]>;

  constructor({ srt, directory, uid }: WrapServiceParts) {
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
    this.errors = new Promise((resolve, reject) => {
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
    this.errors.catch(() => {}); // whoever asks is told
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** A shell command in, the same inside srt's sandbox out. `ended` is owed for each. */
  async wrap(command: string, settings: SrtSettings): Promise<string> {
    await this.errors;
    if (!this.isAlive) throw this.#ended();
    const id = this.#next++;
    const wrapped = await new Promise<string>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.stdin.write(`${JSON.stringify({ id, command, settings })}\n`);
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
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 2_000);
    await this.#exited;
    clearTimeout(timer);
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
