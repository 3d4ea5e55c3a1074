export interface DocExample {
  readonly command: string;
  /** the output that the page shows; may be empty */
  readonly output: string;
}

/**
 * Commands in ```console runnable blocks of a page. A block names the runner that it needs, as in ```console runnable process,
 * and is skipped where that runner is missing.
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

/** `…` in the page matches anything. */
export function outputPattern(output: string): RegExp {
  const parts = output.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join("[\\s\\S]*")}$`);
}
