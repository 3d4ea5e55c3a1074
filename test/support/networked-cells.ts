import { EventEmitter, once } from "node:events";
import { silentLogger } from "../../src/lib/log/logger.ts";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { type ProcessRunnerOptions, processRunner } from "../../src/runners/process/runner.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { hostProcesses } from "./process-cells.ts";

export const carriers = (["template", "direct"] as const).flatMap((layout) =>
  (["listener", "streams"] as const).map((carrier) => ({ name: `${layout} layout, ${carrier}`, layout, carrier })),
);

/** Process cells that may reach one port of this machine as good.example, and their proxy. */
export class NetworkedCells implements AsyncDisposable {
  readonly codecell: LiveSessions;
  readonly #log: EventEmitter;
  readonly #others: ReadonlySet<number>;

  private constructor(codecell: LiveSessions, log: EventEmitter, others: ReadonlySet<number>) {
    this.codecell = codecell;
    this.#log = log;
    this.#others = others;
  }

  static async open(port: number, options: ProcessRunnerOptions = {}): Promise<NetworkedCells> {
    const others = new Set(ownProxies());
    const log = new EventEmitter();
    const logger = { ...silentLogger, info: (message: string) => void log.emit(message) };
    const codecell = await LiveSessions.open({
      policy: parsePolicy({ proc: { timeout: "30s" }, net: { enabled: true, allowlist: [`good.example:${port}`] } }),
      runners: [processRunner(options)],
      egress: { fixedAddresses: { "good.example": "127.0.0.1" }, logger },
    });
    return new NetworkedCells(codecell, log, others);
  }

  /** The pid of their proxy, which starts with the first session that has a network. */
  get proxy(): number {
    const [pid] = ownProxies().filter((one) => !this.#others.has(one));
    if (pid === undefined) throw new Error("there is no proxy");
    return pid;
  }

  /** Kills the proxy, and waits until the host has noticed. */
  async killProxy(): Promise<void> {
    const noticed = once(this.#log, "the egress proxy exited");
    process.kill(this.proxy, "SIGKILL");
    await noticed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.codecell.close();
  }
}

function ownProxies(): number[] {
  return hostProcesses()
    .filter(
      ({ command, status }) => command.includes("egress/process/proxy-process") && Number(status.PPid) === process.pid,
    )
    .map(({ pid }) => pid);
}

/** Python that prints a server's response. */
export function fetching(port: number, path = "/"): string {
  return `import urllib.request\nprint(urllib.request.urlopen("http://good.example:${port}${path}").read().decode())`;
}
