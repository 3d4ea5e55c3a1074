import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import { copyWasmRuntime } from "../support/wasm-runtime.ts";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const launcher = join(root, "bin", "codecell.js");

assertBuilt();

declare module "vitest" {
  export interface ProvidedContext {
    /** directory for the state directories of commands that tests start */
    stateHomes: string;
  }
}

/**
 * The commands' state directory, so that tests do not use the developer's home directory. All files of a worker share it, and
 * test/support/state-homes.ts removes it.
 */
export const stateHome = mkdtempSync(join(inject("stateHomes"), "w-"));
await copyWasmRuntime(stateHome);

export interface Finished {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface StartOptions {
  readonly cwd?: string;
  readonly stdin?: string;
  readonly env?: Record<string, string>;
}

/** A real `codecell` process. */
export class CodecellProcess {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
  #stdout = "";
  #stderr = "";

  constructor(file: string, argv: readonly string[], options: StartOptions = {}) {
    this.child = spawn(process.execPath, [file, ...argv], {
      cwd: options.cwd ?? root,
      env: { ...process.env, XDG_STATE_HOME: stateHome, ...options.env },
      detached: true, // its own process group, like a job of a shell
    });
    this.child.stdout?.on("data", (bytes) => {
      this.#stdout += bytes;
    });
    this.child.stderr?.on("data", (bytes) => {
      this.#stderr += bytes;
    });
    this.child.stdin?.on("error", () => {}); // it may exit without reading
    this.child.stdin?.end(options.stdin ?? "");
    this.finished = new Promise((resolve, reject) => {
      this.child.on("error", reject);
      this.child.on("close", (code, signal) => resolve({ code, signal, stdout: this.#stdout, stderr: this.#stderr }));
    });
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Waits until this is printed on either stream. */
  async printed(text: string): Promise<void> {
    const { stdout, stderr } = this.child;
    while (!(this.#stdout + this.#stderr).includes(text)) {
      const ended = await Promise.race([
        new Promise<undefined>((resolve) => {
          for (const stream of [stdout, stderr]) stream?.once("data", () => resolve(undefined));
        }),
        this.finished,
      ]);
      if (ended) throw new Error(`ended before it printed ${text}: ${JSON.stringify(ended)}`);
    }
  }

  /** Every descendant, as `pid/start time`, because pids are reused. */
  descendants(): string[] {
    const parents = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => processFacts(name) ?? []);
    const below = new Set([String(this.pid)]);
    for (let size = 0; size !== below.size; ) {
      size = below.size;
      for (const { pid, parent } of parents) if (below.has(parent)) below.add(pid);
    }
    below.delete(String(this.pid));
    return parents.filter(({ pid }) => below.has(pid)).map(({ pid, started }) => `${pid}/${started}`);
  }
}

/** Those of these processes that are still running. */
export function living(processes: readonly string[]): string[] {
  return processes.filter((one) => {
    const [pid = "", started] = one.split("/");
    const facts = processFacts(pid);
    return facts?.started === started && facts?.state !== "Z";
  });
}

export function codecell(argv: readonly string[], options: StartOptions = {}): Promise<Finished> {
  return new CodecellProcess(launcher, argv, options).finished;
}

/** Runners that other tests set up: an engine in test/containers, the optional package in test/clients, a fake cluster in test/kubernetes. */
const elsewhere = ["container", "gvisor", "kata", "kubernetes", "podman", "srt"];

/** Runners that `doctor` finds here; one that REQUIRE_RUNNERS names must be among them. */
export function availableRunners(): Promise<string[]> {
  found ??= findRunners(); // once for all files: each question takes a third of a second of CPU time
  return found;
}

let found: Promise<string[]> | undefined;

async function findRunners(): Promise<string[]> {
  const { stdout } = await codecell(["doctor", "--json"]);
  const { runners } = JSON.parse(stdout) as { runners: { name: string; available: boolean; reason?: string }[] };
  const isHere = ({ name, available }: { name: string; available: boolean }) => available && !elsewhere.includes(name);
  const there = runners.filter(isHere).map(({ name }) => name);
  const required = (process.env.REQUIRE_RUNNERS ?? "").split(",").filter(Boolean);
  const missing = required.filter((name) => !there.includes(name) && !elsewhere.includes(name));
  if (missing.length > 0) throw new Error(`REQUIRE_RUNNERS names ${missing}, which \`codecell doctor\` does not find`);
  return there;
}

function processFacts(pid: string) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state = "", parent = "", ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { pid, state, parent, started: rest[17] ?? "" };
  } catch {
    return undefined;
  }
}

/** These tests run the build. An outdated build would test old code. */
function assertBuilt(): void {
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
  const newest = Math.max(
    ...sources
      .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
      .map((name) => statSync(join(root, "src", name)).mtimeMs),
  );
  const outputs = ["dist/index.js", "dist/bundled/index.js"].map((name) => join(root, name));
  const built = Math.min(...outputs.map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0));
  if (built < newest) throw new Error("dist is older than src: run `npm run build` first");
}
