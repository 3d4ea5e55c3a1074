import { messageOf } from "../../../lib/errors.ts";
import { SerialQueue } from "../../../lib/waiting/serial-queue.ts";
import type { Policy } from "../../../policy/schema.ts";
import type { Codecell } from "../../../sessions/codecell.ts";
import type { CommandLogger } from "../shell/command-logger.ts";
import type { Terminal, TerminalSignal } from "../shell/terminal.ts";

/** Whether a signal means "reload the policy". If stderr is a terminal, SIGHUP means that the terminal was closed. */
export function isReloadSignal(signal: TerminalSignal, { stderr }: Terminal): boolean {
  return signal === "SIGHUP" && !stderr.isTTY;
}

/** Reloads a server's policy, one reload at a time, and reports the changes. An invalid policy changes nothing. */
export class PolicyReloader {
  readonly #read: () => Promise<Policy>;
  readonly #logger: Pick<CommandLogger, "announce">;
  readonly #reloads = new SerialQueue();

  constructor(read: () => Promise<Policy>, logger: Pick<CommandLogger, "announce">) {
    this.#read = read;
    this.#logger = logger;
  }

  /** Resolves when the new rules are in force. Never rejects. */
  reload(manager: Pick<Codecell, "reloadPolicy">): Promise<void> {
    return this.#reloads.run(() => this.#reload(manager));
  }

  async #reload(manager: Pick<Codecell, "reloadPolicy">): Promise<void> {
    try {
      const { changes, later } = await manager.reloadPolicy(await this.#read());
      for (const { rule, from, to } of changes) this.#logger.announce(`${rule} changed from ${from} to ${to}`);
      if (later.length > 0) this.#logger.announce(`restart to apply changes of: ${later.join(", ")}`);
      if (changes.length + later.length === 0) this.#logger.announce("the policy has not changed");
    } catch (error) {
      this.#logger.announce(`kept the current policy: ${messageOf(error)}`);
    }
  }
}
