import { describe, expect, test } from "vitest";
import { outputPattern } from "../support/doc-examples.ts";
import { readersShell, walkthroughs } from "../support/walkthroughs.ts";
import { bash } from "./agent-sdk.ts";
import { newClaudeHome } from "./claude-code.ts";
import { installProgram } from "./installed-program.ts";
import { lacking } from "./lacking.ts";
import { startScriptedMessagesApi, type Turn } from "./scripted-messages-api.ts";

const gated: readonly Turn[] = [
  () => [bash("echo $((6 * 7))"), { name: "Read", input: { file_path: "/etc/passwd" } }],
  ([ran, read]) => `${ran?.texts.join()} / ${read?.texts.join()}`,
];
/** What the model says in each tour with an agent: three queries of the last one reach it. */
const scripts: Readonly<Record<string, readonly Turn[]>> = {
  "4. Make the sandbox the only way an agent runs code": gated,
  "5. Open the network for one query only": [() => "42", () => "42", () => "42"],
};
const tours = walkthroughs
  .map(({ title, steps }) => ({ title, steps: steps.filter(({ needs }) => needs === "agent-sdk") }))
  .filter(({ steps }) => steps.length > 0);

describe.skipIf(await lacking("claude", "process runner"))("a walkthrough with an agent", () => {
  test("is played by a script of its own", () => {
    expect(tours.map(({ title }) => title)).toEqual(Object.keys(scripts));
  });

  test.each(tours)('"$title" prints what the page shows', async ({ title, steps }) => {
    await using home = await newClaudeHome();
    await using api = await startScriptedMessagesApi(scripts[title] ?? []);
    await using shell = await readersShell({ ...home.env, ANTHROPIC_BASE_URL: api.url });
    await installProgram(shell.cwd);
    for (const { script, output } of steps) expect(await shell.paste(script)).toMatch(outputPattern(output));
    expect(api.failure).toBeUndefined();
  });
});
