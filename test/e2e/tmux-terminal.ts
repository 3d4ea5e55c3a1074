import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { launcher, root, stateHome } from "./codecell-process.ts";

const patienceMs = 60_000;
const execute = promisify(execFile);

/** Whether this machine has tmux. */
export const hasTmux = (() => {
  try {
    execFileSync("tmux", ["-V"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

/** A `codecell` command in a real terminal, as a person sees it and types. */
export class TmuxTerminal implements AsyncDisposable {
  /** path of the server's socket */
  readonly #server: string;
  readonly #client: ChildProcess;
  #changed: () => void = () => {};

  private constructor(server: string) {
    this.#server = server;
    // In control mode, tmux prints a line for everything that the program writes.
    this.#client = spawn("tmux", ["-S", server, "-C", "attach"], { stdio: ["pipe", "pipe", "ignore"] });
    this.#client.stdout?.on("data", () => this.#changed());
    this.#client.on("close", () => this.#changed());
  }

  static async start(argv: readonly string[], env: Record<string, string> = {}): Promise<TmuxTerminal> {
    const server = join(await mkdtemp(join(tmpdir(), "codecell-tmux-")), "socket");
    const size = ["-x", "100", "-y", "60"];
    const variables = Object.entries({ XDG_STATE_HOME: stateHome, ...env }).map(([name, value]) => `${name}=${value}`);
    const words = ["env", ...variables, process.execPath, launcher, ...argv].map((word) => `'${word}'`).join(" ");
    // `cat` keeps the screen after the command has exited
    const command = `${words}; echo "exit code $?"; cat`;
    await tmux(server, "-f", "/dev/null", "new-session", "-d", ...size, "-c", root, command);
    return new TmuxTerminal(server);
  }

  /** Types text or keys by tmux's names: `Enter`, `Tab`, `C-c`. */
  async type(...keys: string[]): Promise<void> {
    for (const key of keys) await tmux(this.#server, "send-keys", key);
  }

  /** Pastes as a terminal does: with the marks of bracketed paste, if the program has asked for them. */
  async paste(text: string): Promise<void> {
    const loading = execute("tmux", ["-S", this.#server, "load-buffer", "-"]);
    loading.child.stdin?.end(text);
    await loading;
    await tmux(this.#server, "paste-buffer", "-p", "-d");
  }

  /** The screen without empty lines at its end. */
  async screen({ colours = false } = {}): Promise<string> {
    return (await tmux(this.#server, "capture-pane", "-p", ...(colours ? ["-e"] : []))).trimEnd();
  }

  /** Waits until the screen shows this. If it never does, the error shows the screen. */
  async sees(wanted: string | RegExp): Promise<string> {
    let isLate = false;
    const limit = setTimeout(() => {
      isLate = true;
      this.#changed();
    }, patienceMs);
    try {
      for (;;) {
        const changed = new Promise<void>((resolve) => {
          this.#changed = resolve;
        });
        const screen = await this.screen();
        if (typeof wanted === "string" ? screen.includes(wanted) : wanted.test(screen)) return screen;
        if (isLate || this.#client.exitCode !== null) throw new Error(`the screen does not show ${wanted}:\n${screen}`);
        await changed;
      }
    } finally {
      clearTimeout(limit);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await tmux(this.#server, "kill-server").catch(() => {});
    this.#client.kill();
    await rm(dirname(this.#server), { recursive: true }); // tmux leaves its socket behind
  }
}

async function tmux(server: string, ...argv: string[]): Promise<string> {
  return (await execute("tmux", ["-S", server, ...argv])).stdout;
}
