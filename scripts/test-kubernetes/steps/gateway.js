import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { connect } from "../../../dist/client/index.js";
import { root } from "./context.js";

const ticksPerSecond = 100;
const token = randomBytes(24).toString("hex");

/** A `codecell serve` process, with the rights that the chart gives it. */
export class Gateway {
  #child;

  constructor(child, address) {
    this.#child = child;
    this.url = address.url;
  }

  /**
   * @param {import("./context.js").Context} context
   * @param {{ name: string, policy: object, runner?: string, argv?: string[], env?: NodeJS.ProcessEnv }} options name: of its state, so
   *   that another gateway with the same name takes it over
   */
  static async start(context, { name, policy, runner = "kubernetes", argv = [], env = {} }) {
    const directory = join(context.directory, name);
    await mkdir(join(directory, "run"), { recursive: true });
    const policyFile = join(directory, "policy.json");
    await writeFile(policyFile, JSON.stringify({ version: 1, ...policy }));
    const places = ["--state-dir", join(directory, "state"), "--runtime-dir", join(directory, "run")];
    const limits = ["--max-runs", "200", "--max-runs-per-token", "200", "--max-requests-per-token", "400"];
    const words = ["serve", "--port", "0", "--json", "--no-dashboard", "--runner", runner, "--policy", policyFile];
    const child = spawn(process.execPath, [join(root, "bin/codecell.js"), ...words, ...places, ...limits, ...argv], {
      cwd: directory,
      env: { ...context.env, CODECELL_TOKEN: token, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const line = await Promise.race([
      once(createInterface({ input: child.stdout }), "line"),
      once(child, "exit").then(([code]) => Promise.reject(new Error(`the gateway exited with ${code}`))),
    ]);
    return new Gateway(child, JSON.parse(line[0]));
  }

  connect() {
    return connect({ url: this.url, token, retries: 0 });
  }

  get pid() {
    return this.#child.pid;
  }

  /** Its memory and CPU time so far. */
  usage() {
    const [, kib = "0"] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${this.pid}/status`, "utf8")) ?? [];
    const fields = readFileSync(`/proc/${this.pid}/stat`, "utf8").split(") ").at(-1).split(" ");
    const cpuMs = ((Number(fields[11]) + Number(fields[12])) / ticksPerSecond) * 1000;
    return { bytes: Number(kib) * 1024, cpuMs };
  }

  /** Without a chance to clean up. */
  async kill() {
    await this.#end("SIGKILL");
  }

  async stop() {
    await this.#end("SIGTERM");
  }

  async #end(signal) {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill(signal);
    const late = setTimeout(() => this.#child.kill("SIGKILL"), 40_000);
    await ended;
    clearTimeout(late);
  }
}
