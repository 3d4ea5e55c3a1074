export interface DocExample {
  readonly command: string;
  /** what the page shows below it; empty: nothing */
  readonly output: string;
}

/**
 * Commands in ```console runnable blocks of a page. A block that needs a runner names it, as in ```console runnable process,
 * and is left out where that runner is not.
 */
export function examplesOf(text: string, runners: readonly string[]): DocExample[] {
  const blocks = [...text.matchAll(/^```console runnable(?: (\w+))?\n([\s\S]*?)^```$/gm)]
    .filter(([, runner]) => runner === undefined || runners.includes(runner))
    .map((match) => match[2] ?? "");
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((example) => {
        const [command = "", ...output] = example.split("\n");
        return { command, output: output.join("\n").trimEnd() };
      }),
  );
}

/** `…` in the page stands for anything. */
export function outputPattern(output: string): RegExp {
  const parts = output.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join("[\\s\\S]*")}$`);
}
