import { randomBytes } from "node:crypto";
import { chmod, mkdir } from "node:fs/promises";
import { availableParallelism, getPriority, homedir, hostname, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { Cleanup } from "../../lib/cleanup.ts";
import { CodecellError } from "../../lib/errors.ts";
import { takeLock } from "../../lib/files/liveness-lock.ts";
import { removeTree } from "../../lib/files/remove-tree.ts";
import { openRuntimeDirectory } from "../../lib/files/runtime-directory.ts";
import { ownerLock } from "../../sessions/storage/files/remove-orphans.ts";
import type { HostFacts } from "../program.ts";
import { type CanaryDirectory, changeOf, plantCanary, repairCanary } from "./canary-files.ts";
import { type CanaryListeners, openCanaryListeners } from "./canary-listeners.ts";
import { type CanaryProcess, startCanaryProcess } from "./canary-process.ts";
import { type CanaryWeb, openCanaryWeb } from "./canary-web.ts";
import { canaryParents, ownPlace, removeDeadPlaces } from "./own-places.ts";
import { makeShownDirectories, type ShownDirectories } from "./shown-directories.ts";
import { systemCallNumbers } from "./system-call-numbers.ts";

/** Options of the host's side of the suite. */
export interface AttackHostOptions {
  /** where its directories are made; a container engine must be able to mount from there. Default: the temporary directory */
  readonly directory?: string;
}

/**
 * What attacks aim at, and how the host notices harm: canary files, listeners, a process, an environment variable. The secret
 * is in all of them, and no program is told what it is.
 */
export class AttackHost implements AsyncDisposable {
  readonly secret: string;
  /** directory of this run of the suite, which cells cannot see but for what policies mount of it */
  readonly directory: string;
  readonly web: CanaryWeb;
  /** the directories that the policy of `mounts` shows to cells */
  readonly shown: ShownDirectories;
  /** the environment variable with the secret */
  readonly variable: string;
  readonly #canaries: readonly CanaryDirectory[];
  readonly #listeners: CanaryListeners;
  #process: CanaryProcess;
  readonly #mark: string;
  readonly #cleanup: Cleanup;

  private constructor(parts: {
    secret: string;
    directory: string;
    variable: string;
    mark: string;
    web: CanaryWeb;
    shown: ShownDirectories;
    canaries: readonly CanaryDirectory[];
    listeners: CanaryListeners;
    process: CanaryProcess;
    cleanup: Cleanup;
  }) {
    this.secret = parts.secret;
    this.directory = parts.directory;
    this.variable = parts.variable;
    this.web = parts.web;
    this.shown = parts.shown;
    this.#mark = parts.mark;
    this.#canaries = parts.canaries;
    this.#listeners = parts.listeners;
    this.#process = parts.process;
    this.#cleanup = parts.cleanup;
  }

  /** Removes what a killed suite left behind, then plants everything anew. */
  static async open({ directory: parent = tmpdir() }: AttackHostOptions = {}): Promise<AttackHost> {
    await using cleanup = new Cleanup();
    const runtimeDir = await openRuntimeDirectory();
    await removeDeadPlaces(runtimeDir, parent);
    const tag = `m${randomBytes(6).toString("hex")}`;
    const lock = await takeLock(ownerLock(runtimeDir, tag));
    if (!lock) throw new CodecellError("internal", "the lock of a new owner is already held");
    cleanup.defer(() => lock[Symbol.asyncDispose]());

    const secret = `cnry${randomBytes(20).toString("hex")}`;
    const variable = `CODECELL_ATTACK_${tag.toUpperCase()}`;
    const mark = `codecell-attack-target-${tag}`;
    const directory = ownPlace(parent, tag);
    await mkdir(directory, { mode: 0o711 });
    cleanup.defer(() => removeTree(directory));
    await chmod(directory, 0o711);
    const canaries = [await plantCanary(join(directory, "outside"), secret)];
    for (const place of canaryParents().map((one) => ownPlace(one, tag))) {
      if (place === directory) continue;
      const planted = await mkdir(place).then(
        () => plantCanary(place, secret),
        () => undefined, // only root may write there
      );
      if (!planted) continue;
      cleanup.defer(() => removeTree(place));
      canaries.push(planted);
    }
    process.env[variable] = secret;
    cleanup.defer(() => {
      delete process.env[variable];
    });
    const listeners = await openCanaryListeners(join(directory, "outside"), tag);
    cleanup.defer(() => listeners[Symbol.asyncDispose]());
    const target = await startCanaryProcess(mark, { [variable]: secret });
    const web = await openCanaryWeb(secret);
    cleanup.defer(() => web[Symbol.asyncDispose]());
    const shown = await makeShownDirectories(directory, secret, canaries[0]?.secretFile ?? "");
    const parts = { secret, directory, variable, mark, web, shown, canaries, listeners, process: target };
    const owned = cleanup.move();
    const host = new AttackHost({ ...parts, cleanup: owned });
    owned.defer(() => host.#process[Symbol.asyncDispose]());
    return host;
  }

  /** A port of loopback that no cell may reach. */
  get port(): number {
    return this.#listeners.port;
  }

  /** What a program may know of its targets. The secret is not among them, only its beginning in two halves, to search for. */
  get facts(): HostFacts {
    const { port, udpPort, abstract, socket } = this.#listeners;
    return {
      ...{ port, udpPort, abstract: abstract ?? "", socket, variable: this.variable, mark: this.#mark },
      file: this.#canaries[0]?.secretFile,
      writable: this.#canaries[0]?.writableFile,
      files: this.#canaries.map(({ secretFile }) => secretFile),
      writables: this.#canaries.map(({ writableFile }) => writableFile),
      directories: this.#canaries.map(({ path }) => path),
      needle: [this.secret.slice(0, 6), this.secret.slice(6, 12)],
      pid: this.#process.pid,
      names: [...new Set([hostname(), homedir(), userInfo().username, process.cwd()])].filter(isTelling),
      processors: availableParallelism(),
      priority: getPriority(),
      calls: systemCallNumbers(),
      good: `good.example:${this.web.port}`,
      other: `other.example:${this.web.otherPort}`,
    };
  }

  /**
   * Harm since the last call that the host sees whatever the program says. `printed` is all that the program sent. What was
   * harmed is put back, so that one attack is not blamed for another.
   */
  async harm(printed: string): Promise<string | undefined> {
    const harm = await this.#look(printed);
    if (harm === undefined) return undefined;
    for (const canary of this.#canaries) await repairCanary(canary, this.secret);
    if ((await this.shown.change()) !== undefined) await this.shown.repair();
    if (!this.#process.isAlive) this.#process = await startCanaryProcess(this.#mark, { [this.variable]: this.secret });
    return harm;
  }

  async #look(printed: string): Promise<string | undefined> {
    const [reached] = this.#listeners.reached();
    const [leak] = this.web.leaks();
    if (printed.includes(this.secret)) return "it returned the host's secret";
    if (reached !== undefined) return `it reached ${reached} of the host`;
    if (leak !== undefined) return `it sent the secret to a host that may not have it: ${leak}`;
    if (!this.#process.isAlive) return "it killed a process of the host";
    for (const canary of this.#canaries) {
      const change = await changeOf(canary, this.secret);
      if (change !== undefined) return change;
    }
    return this.shown.change();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#cleanup[Symbol.asyncDispose]();
  }
}

/** Whether a name identifies this host: a user name that every system has does not. */
function isTelling(name: string): boolean {
  const everywhere = [
    "root",
    "cell",
    "localhost",
    "codecell",
    "node",
    "/root",
    "/home",
    "/tmp",
    "/usr",
    "/var",
    "/opt",
    "/run",
  ];
  return name.length > 2 && !everywhere.includes(name);
}
