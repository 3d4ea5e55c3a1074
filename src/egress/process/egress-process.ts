import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CodecellError } from "../../lib/errors.ts";
import { claimPath } from "../../lib/files/living-file.ts";
import { openRuntimeDirectory } from "../../lib/files/runtime-directory.ts";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import type { PassedListener } from "../../lib/passed-listener.ts";
import { lookupThreads } from "../proxy/lookup-turns.ts";
import type { EgressRules } from "../rules/decide.ts";
import type { OnEgressEvent } from "../rules/events.ts";
import type { EgressTimes } from "../rules/limits.ts";
import { fromProxy, type ToProxy } from "./process-messages.ts";
import { proxyEntry } from "./proxy-entry.ts";
import { despiteExits, ProxyExited } from "./proxy-exited.ts";
import { SessionEgress } from "./session-egress.ts";
import { noKeys, type SessionKeys } from "./session-keys.ts";

/** Options of the egress proxy that no policy sets. */
export interface EgressOptions {
  readonly logger?: Logger;
  readonly runtimeDir?: string;
  /** @internal */
  readonly times?: Partial<EgressTimes>;
  /**
   * Fixed addresses of names, used instead of DNS and exempt from the address rules. For tests and for programs that embed
   * codecell: a policy cannot set it.
   */
  readonly fixedAddresses?: Readonly<Record<string, string>>;
  /** Extra certificate authorities, in PEM, for servers whose TLS is inspected. A policy cannot set it either. */
  readonly authorities?: readonly string[];
}

interface Child {
  readonly process: ChildProcess;
  readonly directory: string;
  /** removes the directory; if this process is killed, the next one does */
  readonly claim: AsyncDisposable;
}

type Answer = (error?: CodecellError) => void;

const answerMs = 10_000;
const updateMs = 3_000;
/** minimum time between two starts of a proxy that keeps crashing */
const restartMs = 1_000;
const flags = ["--no-addons", "--disallow-code-generation-from-strings", "--max-old-space-size=512"];

/** The proxy's process: started for the first session with a network, and restarted when it exits. */
export class EgressProcess implements AsyncDisposable {
  readonly #options: EgressOptions;
  readonly #logger: Logger;
  readonly #sessions = new Map<number, SessionEgress>();
  readonly #opening = new Map<number, Answer>();
  readonly #listening = new Map<number, Answer>();
  readonly #flushing = new Map<number, Answer>();
  readonly #closing = new AbortController();
  #child: Promise<Child> | undefined;
  #startedAt = Number.NEGATIVE_INFINITY;
  #sessionCount = 0;
  #flushCount = 0;

  /** Starts nothing. */
  constructor(options: EgressOptions = {}) {
    this.#options = options;
    this.#logger = options.logger ?? silentLogger;
  }

  /** `keys` stay in memory, here and in the proxy. A restarted proxy gets them again. */
  async openSession(rules: EgressRules, onEvent: OnEgressEvent, keys: SessionKeys = noKeys): Promise<SessionEgress> {
    const number = ++this.#sessionCount;
    const link = {
      open: (current: EgressRules) => this.#open(number, current, keys),
      listen: (listener: PassedListener) => this.#listen(number, listener),
      update: (current: EgressRules) => this.#update(number, current),
      flush: () => this.#flush(number),
      close: () => {
        this.#sessions.delete(number);
        void this.#send({ t: "close", session: number });
      },
    };
    const session = new SessionEgress(link, rules, onEvent);
    this.#sessions.set(number, session);
    try {
      await despiteExits(() => session.ready());
    } catch (error) {
      await session[Symbol.asyncDispose]();
      throw error;
    }
    return session;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    const child = await this.#child?.catch(() => undefined);
    if (!child || hasExited(child.process)) return;
    const exit = once(child.process, "exit");
    child.process.ref();
    child.process.kill("SIGKILL");
    await exit;
    await child.claim[Symbol.asyncDispose]();
  }

  async #open(session: number, rules: EgressRules, keys: SessionKeys): Promise<string> {
    this.#child ??= this.#start().catch((error: unknown) => {
      this.#child = undefined;
      throw error;
    });
    const { directory } = await this.#child;
    await this.#exchange(this.#opening, session, { t: "open", session, rules, keys });
    return join(directory, String(session));
  }

  async #listen(session: number, listener: PassedListener): Promise<void> {
    if (!listener.handle) return; // the cell has exited
    await this.#exchange(this.#listening, session, { t: "listen", session }, { listener });
  }

  async #flush(session: number): Promise<void> {
    if (this.#child === undefined) return;
    await this.#flushed(session, answerMs).catch(() => {});
  }

  /** A proxy that does not confirm the rules is killed, with all its connections. The next one starts with the new rules. */
  async #update(session: number, rules: EgressRules): Promise<void> {
    const child = await this.#child?.catch(() => undefined);
    if (!child || hasExited(child.process)) return;
    await this.#send({ t: "update", session, rules });
    try {
      await this.#flushed(session, updateMs);
    } catch {
      if (hasExited(child.process)) return;
      const exit = once(child.process, "exit");
      child.process.kill("SIGKILL");
      await exit;
    }
  }

  async #flushed(session: number, withinMs: number): Promise<void> {
    const flush = ++this.#flushCount;
    await this.#exchange(this.#flushing, flush, { t: "flush", session, flush }, { withinMs });
  }

  /** Sends a message and waits for the reply with the same number. */
  async #exchange(
    waiting: Map<number, Answer>,
    number: number,
    message: ToProxy,
    { withinMs = answerMs, listener }: { withinMs?: number; listener?: PassedListener } = {},
  ): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const answered = new Promise<void>((settle, reject) => {
      waiting.set(number, (error) => (error ? reject(error) : settle()));
      timer = setTimeout(() => reject(notResponding()), withinMs);
    });
    try {
      const sent = this.#send(message, listener).then((isSent) => {
        if (!isSent) throw new ProxyExited(); // nobody would answer
      });
      await Promise.all([answered, sent]);
    } finally {
      clearTimeout(timer);
      waiting.delete(number);
    }
  }

  async #send(message: ToProxy, listener?: PassedListener): Promise<boolean> {
    const child = await this.#child?.catch(() => undefined);
    if (!child?.process.connected) return false;
    child.process.send(message, listener?.handle, undefined, () => {});
    return true;
  }

  async #start(): Promise<Child> {
    const entry = proxyEntry();
    const wait = Math.max(0, this.#startedAt + restartMs - performance.now());
    // Keep the event loop alive while a caller waits for the proxy.
    if (wait > 0) await sleep(wait, undefined, { signal: this.#closing.signal });
    this.#startedAt = performance.now();
    const directory = join(
      await openRuntimeDirectory(this.#options.runtimeDir),
      `egress-${randomBytes(6).toString("hex")}`,
    );
    const claim = await claimPath(directory);
    if (!claim) throw new CodecellError("internal", "the directory of a new proxy is already in use");
    await mkdir(directory, { mode: 0o700 });
    const child = spawn(process.execPath, [...flags, entry], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      // The attack: bytes of a cell take over the proxy, which could then read the host's keys from its environment.
      env: { UV_THREADPOOL_SIZE: String(lookupThreads) },
      cwd: "/",
    });
    child.on("message", (message) => this.#receive(message));
    child.once("exit", (code, signal) => this.#ended(claim, { code, signal }));
    await once(child, "spawn").catch(async (error: unknown) => {
      await claim[Symbol.asyncDispose]();
      throw error;
    });
    child.on("error", () => {});
    child.unref(); // must not keep the program alive; the proxy exits when its parent does
    child.channel?.unref();
    const { fixedAddresses = {}, times = {}, authorities = [] } = this.#options;
    child.send({ t: "configure", settings: { directory, fixedAddresses, times, authorities } } satisfies ToProxy);
    return { process: child, directory, claim };
  }

  #ended(claim: AsyncDisposable, how: object): void {
    this.#child = undefined;
    this.#logger.info("the egress proxy exited", { ...how });
    const error = new ProxyExited();
    for (const waiting of [this.#opening, this.#listening, this.#flushing]) {
      for (const answer of waiting.values()) answer(error);
    }
    for (const session of this.#sessions.values()) session.lost();
    void Promise.resolve(claim[Symbol.asyncDispose]()).catch(() => {});
  }

  #receive(message: unknown): void {
    const parsed = fromProxy.safeParse(message);
    if (!parsed.success) {
      this.#logger.error("the egress proxy sent an invalid message", {});
      return;
    }
    const said = parsed.data;
    switch (said.t) {
      case "opened":
        this.#opening.get(said.session)?.();
        return;
      case "listening":
        this.#listening.get(said.session)?.();
        return;
      case "refused": {
        const answer = this.#opening.get(said.session) ?? this.#listening.get(said.session);
        answer?.(new CodecellError("internal", `the egress proxy could not open the session: ${said.reason}`));
        return;
      }
      case "event":
        this.#sessions.get(said.session)?.tell(said.event);
        return;
      case "flushed":
        this.#flushing.get(said.flush)?.();
        return;
    }
  }
}

function notResponding(): CodecellError {
  const hint = "the machine may be overloaded: try again";
  return new CodecellError("cell_start_failed", "the egress proxy does not respond", { hint });
}

function hasExited({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
