import { processRunner } from "../../src/runners/process/runner.ts";
import type { SandboxRunner } from "../../src/runners/runner.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { borrowedRunner } from "../../src/sessions/packages/build-cell.ts";
import { main } from "../../src/surfaces/cli/main.ts";
import { FakeTerminal, type FakeTerminalOptions } from "../fakes/fake-terminal.ts";
import { availableRunners, type Finished } from "./codecell-process.ts";

/**
 * Commands in this process, on one runner that they share. For what a command decides itself: a process for each would mostly start
 * Node and an interpreter's template.
 */
export class CommandsHere implements AsyncDisposable {
  readonly #runner: SandboxRunner;

  private constructor(runner: SandboxRunner) {
    this.#runner = runner;
  }

  /** With the fastest runner that is here. */
  static async open(): Promise<CommandsHere> {
    return new CommandsHere((await availableRunners()).includes("process") ? processRunner() : wasmRunner());
  }

  async run(argv: readonly string[], options: FakeTerminalOptions = {}): Promise<Omit<Finished, "signal">> {
    const terminal = new FakeTerminal(options);
    const code = await main(argv, { terminal, runners: () => [borrowedRunner(this.#runner)] });
    // a command writes either text or bytes
    return { code, stdout: `${terminal.stdout.text}${terminal.stdout.bytes}`, stderr: terminal.stderr.text };
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#runner[Symbol.asyncDispose]();
  }
}
