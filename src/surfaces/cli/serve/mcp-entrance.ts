import { processTerminal } from "../shell/process-terminal.ts";

/**
 * `codecell mcp` without the other commands: clients start servers only to ask what they offer, and loading everything
 * would take longer than answering. What is not the plain case goes the usual way.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const [, ...args] = argv;
  if (args.includes("--help") || args.includes("-h")) return (await import("../main.ts")).main(argv);
  const terminal = processTerminal();
  try {
    const { serveMcp } = await import("./mcp-serve.ts");
    const runners = async () => (await import("../../../sessions/built-in-runners.ts")).builtInRunners;
    return await serveMcp(args, { terminal, runners });
  } catch (error) {
    const { reportFailure } = await import("../shell/report-failure.ts");
    return reportFailure(error, terminal, { json: false, verbose: args.includes("--verbose") });
  }
}
