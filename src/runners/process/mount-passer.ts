import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { CodecellError } from "../../lib/errors.ts";
import { once as onlyOnce } from "../../lib/once.ts";
import { withStreams } from "../../lib/with-streams.ts";
import { collectText } from "../linux/collect-text.ts";
import { mountPasserScript } from "./mount-passer-script.ts";

/** What the helper says if nobody listens on the template's socket. */
const goneTemplate = /Connection refused|No such file|Connection reset|did not take/;

/** A mount that a template has received and keeps for one cell. */
export interface PassedMount {
  readonly ticket: string;
  /** The cell has started, or never will. */
  release(): void;
}

/**
 * Passes mounted file systems to templates. A template has a mount namespace of its own, made before the session's file
 * system was mounted, so it never sees that mount by its path. Its process starts with the first mount.
 */
export class MountPasser implements AsyncDisposable {
  readonly #python: () => Promise<string>;
  readonly #waiting = new Map<string, (failure: string | undefined) => void>();
  #process: Promise<ChildProcess> | undefined;
  #passed = 0;

  /** `python` finds an interpreter of the host. */
  constructor(python: () => Promise<string>) {
    this.#python = python;
  }

  async pass(directory: string, socket: string): Promise<PassedMount> {
    this.#process ??= this.#start().catch((error: unknown) => {
      this.#process = undefined; // the next mount tries again
      throw error;
    });
    const child = await this.#process;
    const ticket = `disk-${++this.#passed}`;
    const answered = new Promise<string | undefined>((resolve) => this.#waiting.set(ticket, resolve));
    const say = (request: object) => child.stdin?.write(`${JSON.stringify(request)}\n`);
    say({ ticket, directory, socket });
    const failure = await answered;
    if (failure === undefined) return { ticket, release: onlyOnce(() => void say({ ticket })) };
    throw new CodecellError("cell_start_failed", `the disk of the session could not be passed on: ${failure}`, {
      hint: "passing on mounts needs Linux 5.2 or later; or set proc.exactDisk to false",
      details: { isTemplateGone: goneTemplate.test(failure) },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const child = await this.#process?.catch(() => undefined);
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.stdin?.end();
    await once(child, "exit");
  }

  async #start(): Promise<ChildProcess> {
    const options = { env: {}, cwd: "/", stdio: ["pipe", "pipe", "pipe"] as ["pipe", "pipe", "pipe"] };
    const child = withStreams(spawn(await this.#python(), ["-I", "-S", "-c", mountPasserScript], options));
    const said = collectText(child.stderr);
    const lines = createInterface(child.stdout);
    lines.on("line", (line) => {
      const { ticket, error } = JSON.parse(line) as { ticket: string; error?: string };
      this.#answer(ticket, error);
    });
    const gone = (reason: string) => {
      this.#process = undefined; // the next mount starts another one
      for (const ticket of [...this.#waiting.keys()]) this.#answer(ticket, reason);
    };
    child.once("error", ({ message }) => gone(message));
    child.once("exit", () => gone(`the helper exited: ${said().trim().split("\n").at(-1)}`));
    child.stdin.on("error", () => {}); // its exit has the reason
    return child;
  }

  #answer(ticket: string, failure: string | undefined): void {
    this.#waiting.get(ticket)?.(failure);
    this.#waiting.delete(ticket);
  }
}
