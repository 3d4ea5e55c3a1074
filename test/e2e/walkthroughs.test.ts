import { expect, test } from "vitest";
import { outputPattern } from "../support/doc-examples.ts";
import { readersShell, runnableBlocks, walkthroughs } from "../support/walkthroughs.ts";
import { availableRunners } from "./codecell-process.ts";

/** Blocks that need something else run in test/containers and test/clients. */
const here: readonly (string | undefined)[] = [undefined, ...(await availableRunners())];

test("every block of docs/walkthroughs.md that says it runs is followed by its output", () => {
  expect(walkthroughs.flatMap(({ steps }) => steps)).toHaveLength(runnableBlocks);
  expect(new Set(walkthroughs.flatMap(({ steps }) => steps.map(({ needs }) => needs)))).toEqual(
    new Set([undefined, "process", "container", "agent-sdk"]),
  );
});

const tours = walkthroughs
  .map(({ title, steps }) => ({ title, steps: steps.filter(({ needs }) => here.includes(needs)) }))
  .filter(({ steps }) => steps.length > 0);

test.each(tours)('the walkthrough "$title" prints what the page shows', async ({ steps }) => {
  await using shell = await readersShell();
  for (const { script, output } of steps) expect(await shell.paste(script)).toMatch(outputPattern(output));
});
