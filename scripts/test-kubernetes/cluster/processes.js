import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

const lastLines = 15;

/** The long-running programs of the cluster, each with a log file. Stops them in the order opposite to their start. */
export class Processes {
  #logs;
  #running = new Map();
  #isStopping = false;

  /** @param {string} logs a directory */
  constructor(logs) {
    this.#logs = logs;
  }

  /**
   * @param {string} name
   * @param {readonly string[]} command
   * @param {NodeJS.ProcessEnv} [env]
   */
  async start(name, command, env = {}) {
    await mkdir(this.#logs, { recursive: true });
    const path = join(this.#logs, `${name}.log`);
    const log = openSync(path, "a");
    const [program, ...argv] = command;
    const child = spawn(program, argv, { stdio: ["ignore", log, log], env: { PATH: process.env.PATH, ...env } });
    closeSync(log);
    const process_ = { name, command, env, child, path, isWanted: true };
    this.#running.set(name, process_);
    process_.ended = new Promise((resolve) => {
      child.once("error", (error) => resolve(error.message));
      child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    void process_.ended.then((how) => {
      if (this.#isStopping || !process_.isWanted) return;
      console.error(`${name} ended (${how}). The end of ${path}:\n${endOf(path)}`);
    });
    return process_;
  }

  pid(name) {
    return this.#get(name).child.pid;
  }

  signal(name, signal) {
    this.#get(name).child.kill(signal);
  }

  async stop(name, signal = "SIGTERM") {
    const one = this.#get(name);
    one.isWanted = false;
    one.child.kill(signal);
    const late = setTimeout(() => one.child.kill("SIGKILL"), 5000);
    await one.ended;
    clearTimeout(late);
  }

  async restart(name) {
    const { command, env } = this.#get(name);
    await this.stop(name);
    await this.start(name, command, env);
  }

  async stopAll() {
    this.#isStopping = true;
    for (const name of [...this.#running.keys()].reverse()) await this.stop(name, "SIGKILL");
  }

  #get(name) {
    const found = this.#running.get(name);
    if (!found) throw new Error(`no process ${name}; there are ${[...this.#running.keys()].join(", ")}`);
    return found;
  }
}

function endOf(path) {
  return readFileSync(path, "utf8").trimEnd().split("\n").slice(-lastLines).join("\n");
}
