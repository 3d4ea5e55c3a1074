import { loadRunners } from "../../src/sessions/built-in-runners.ts";
import { main } from "../../src/surfaces/cli/main.ts";
import { FakeTerminal } from "../fakes/fake-terminal.ts";
import { type Finished, type StartOptions, stateHome } from "./codecell-process.ts";

/**
 * The command line with the real runners, in this process. It costs half of what `codecell()` does, and is for questions that
 * another process answers in the same way. Signals, pipes, locks and the bundle need a process.
 */
export async function codecellHere(
  argv: readonly string[],
  options: StartOptions & { readonly isTTY?: boolean } = {},
): Promise<Finished> {
  const terminal = new FakeTerminal({
    ...{ cwd: options.cwd ?? "/", stdin: options.stdin ?? "", isTTY: options.isTTY ?? false },
    env: { ...(process.env as Record<string, string>), XDG_STATE_HOME: stateHome, ...options.env },
  });
  const code = await main(argv, { terminal, runners: loadRunners });
  const { stdout, stderr } = terminal;
  return { code: terminal.exitedWith ?? code, signal: null, stdout: stdout.text + stdout.bytes, stderr: stderr.text };
}
