import { messageOf } from "../../../lib/errors.ts";
import { SerialQueue } from "../../../lib/serial-queue.ts";
import type { Policy } from "../../../policy/schema.ts";
import type { Codecell } from "../../../sessions/codecell.ts";
import type { CommandLogger } from "../shell/command-logger.ts";
import type { Terminal, TerminalSignal } from "../shell/terminal.ts";

/** Whether a signal asks a server to read its policy again. Where somebody watches it, it says that their terminal is gone. */
export function asksForReload(signal: TerminalSignal, { stderr }: Terminal): boolean {
  return signal === "SIGHUP" && !stderr.isTTY;
}

/** Reads a server's policy again, one time after the other, and says what came of it. A policy that does not parse changes nothing. */
export class PolicyReloader {
  readonly #read: () => Promise<Policy>;
  readonly #logger: Pick<CommandLogger, "announce">;
  readonly #reloads = new SerialQueue();

  constructor(read: () => Promise<Policy>, logger: Pick<CommandLogger, "announce">) {
    this.#read = read;
    this.#logger = logger;
  }

  /** Returns when the new rules hold; it fails for nobody. */
  reload(manager: Pick<Codecell, "reloadPolicy">): Promise<void> {
    return this.#reloads.run(() => this.#reload(manager));
  }

  async #reload(manager: Pick<Codecell, "reloadPolicy">): Promise<void> {
    try {
      const { changes, later } = await manager.reloadPolicy(await this.#read());
      for (const { rule, from, to } of changes) this.#logger.announce(`${rule} is now ${to}, it was ${from}`);
      if (later.length > 0) this.#logger.announce(`needs a restart: ${later.join(", ")}`);
      if (changes.length + later.length === 0) this.#logger.announce("the policy is the same");
    } catch (error) {
      this.#logger.announce(`the policy in force stays: ${messageOf(error)}`);
    }
  }
}
