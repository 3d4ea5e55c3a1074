import { processTerminal } from "../shell/process-terminal.ts";

/**
 * `codecell mcp` without loading the other commands: clients often start servers only to list their tools, and loading
 * everything would take longer than the response. `--help` goes through the normal entry point.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const [, ...args] = argv;
  if (args.includes("--help") || args.includes("-h")) return (await import("../main.ts")).main(argv);
  const terminal = processTerminal();
  try {
    const { serveMcp } = await import("./mcp-serve.ts");
    const runners = async () => (await import("../../../sessions/built-in-runners.ts")).loadRunners;
    return await serveMcp(args, { terminal, runners });
  } catch (error) {
    const { reportFailure } = await import("../shell/report-failure.ts");
    return reportFailure(error, terminal, { json: false, verbose: args.includes("--verbose") });
  }
}
