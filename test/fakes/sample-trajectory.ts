import type { RlmEvent, RlmFact, RlmUsage } from "../../src/rlm/trajectory/event.ts";
import { TrajectoryWriter } from "../../src/rlm/trajectory/writer.ts";

const startMs = Date.parse("2026-03-01T10:00:00.000Z");
/** What an attacker prints to break out of a page or a terminal. */
export const hostileText = `</pre><script>alert(1)</script><img src=x onerror="alert(2)">\u001b]0;owned\u0007\u202e&amp;`;

function usage(inputTokens: number, outputTokens: number, cacheReadTokens = 0): RlmUsage {
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens: 0, reasoningTokens: 0 };
}

function call(
  at: number,
  ms: number,
  call: string,
  where: { run: string; turn: number; purpose: "root" | "sub" | "extract" },
  texts: { prompt: string; text: string },
  cost: { usage: RlmUsage; usd: number | null; cached?: boolean; failed?: boolean },
): RlmEvent[] {
  const { run, turn, purpose } = where;
  const model = purpose === "sub" ? "openai/small" : "anthropic/large";
  const request: RlmFact = {
    ...{ type: "lm_request", run, turn, call, purpose, model, hash: "0".repeat(64) },
    ...{ promptChars: texts.prompt.length, prompt: texts.prompt, maxTokens: 4096 },
  };
  const response: RlmFact = {
    ...{ type: "lm_response", run, turn, call, text: texts.text, usd: cost.usd, cached: cost.cached ?? false, ms },
    ...(cost.failed ? { status: "failed" } : { status: "ok", stop: "end", usage: cost.usage }),
  };
  return [
    { ...request, at: startMs + at },
    { ...response, at: startMs + at + ms },
  ];
}

/** A finished tree: a root of three turns, a batch of sub-calls, one that failed, and a sub-agent. */
export function sampleTrajectory(): RlmEvent[] {
  const at = (ms: number, fact: RlmFact): RlmEvent => ({ ...fact, at: startMs + ms });
  const code1 = `print(len(reports))\nfor report in reports[:3]:\n    print(report[:80])\nprint("""${hostileText}""")`;
  const code2 =
    'prompts = [f"Which component failed? One word.\\n\\n{report}" for report in reports]\nanswers = llm_query_batched(prompts)\nprint(answers)';
  const code3 =
    'worst = [r for r, a in zip(reports, answers) if a == "pump"]\nsub = rlm_query("incidents: list[str] -> cause: str", incidents=worst)\nSUBMIT(component="pump", count="six")';
  const batch = Array.from({ length: 8 }, (_, n) =>
    call(
      2600 + Math.floor(n / 4) * 900 + (n % 4) * 40,
      700 + ((n * 137) % 400),
      `c${n + 3}`,
      { run: "rlm-7f3a", turn: 2, purpose: "sub" },
      {
        prompt: `Which component failed? One word.\n\nReport ${n}: the pump ran hot.`,
        text: n === 5 ? "rate limit: 429" : "pump",
      },
      { usage: usage(180 + n, 4), usd: n === 5 ? null : 0.00021, failed: n === 5, cached: n === 7 },
    ),
  ).flat();
  return [
    at(0, {
      ...{
        type: "run_start",
        run: "rlm-7f3a",
        parent: null,
        depth: 0,
        model: "anthropic/large",
        subModel: "openai/small",
      },
      signature: 'reports: list[str], question: str -> component: Literal["pump", "valve"], count: int',
      instructions: "Find the component that fails most often.",
      limits: { turns: 20, calls: 50, usd: 1, tokens: 2_000_000, wallMs: null },
      inputs: [
        { name: "reports", type: "list", chars: 1_204_882, preview: `["Report 0: ${hostileText} ... "]` },
        {
          name: "question",
          type: "str",
          chars: 38,
          preview: "Which component fails, and how often?",
          description: "asked by ops",
        },
      ],
    }),
    at(5, { type: "turn_start", run: "rlm-7f3a", turn: 1, of: 20 }),
    ...call(
      10,
      1500,
      "c1",
      { run: "rlm-7f3a", turn: 1, purpose: "root" },
      { prompt: "Turn 1/20", text: `I look at the data first.\n\n\`\`\`python\n${code1}\n\`\`\`` },
      { usage: usage(1450, 96), usd: 0.0058 },
    ),
    at(1515, { type: "code", run: "rlm-7f3a", turn: 1, code: code1 }),
    at(1560, {
      type: "exec_result",
      run: "rlm-7f3a",
      turn: 1,
      status: "ok",
      output: `8\n${hostileText}`,
      outputChars: 9120,
      ms: 44,
    }),
    at(1561, { type: "turn_start", run: "rlm-7f3a", turn: 2, of: 20 }),
    ...call(
      1570,
      980,
      "c2",
      { run: "rlm-7f3a", turn: 2, purpose: "root" },
      { prompt: "Output (9,120 chars): …\n\nTurn 2/20", text: `\`\`\`python\n${code2}\n\`\`\`` },
      { usage: usage(220, 88, 1450), usd: 0.0031 },
    ),
    at(2560, { type: "code", run: "rlm-7f3a", turn: 2, code: code2 }),
    ...batch,
    at(4600, {
      ...{ type: "exec_result", run: "rlm-7f3a", turn: 2, status: "ok", ms: 2030 },
      ...{
        output: "['pump', 'pump', 'pump', 'pump', 'pump', '[ERROR] rate limit: 429', 'pump', 'pump']",
        outputChars: 84,
      },
    }),
    at(4601, {
      type: "budget",
      run: "rlm-7f3a",
      turn: 2,
      percent: 50,
      kind: "usd",
      left: { calls: 39, tokens: 1_900_000, usd: 0.48 },
    }),
    at(4602, { type: "turn_start", run: "rlm-7f3a", turn: 3, of: 20 }),
    ...call(
      4610,
      1100,
      "c11",
      { run: "rlm-7f3a", turn: 3, purpose: "root" },
      { prompt: "Output (84 chars): …\n\nTurn 3/20", text: `\`\`\`python\n${code3}\n\`\`\`` },
      { usage: usage(150, 120, 1670), usd: 0.0044 },
    ),
    at(5720, { type: "code", run: "rlm-7f3a", turn: 3, code: code3 }),
    at(5730, {
      type: "sub_start",
      run: "rlm-7f3a",
      turn: 3,
      child: "rlm-7f3a.1",
      signature: "incidents: list[str] -> cause: str",
    }),
    at(5734, {
      ...{
        type: "run_start",
        run: "rlm-7f3a.1",
        parent: "rlm-7f3a",
        depth: 1,
        model: "anthropic/large",
        subModel: "openai/small",
      },
      ...{ signature: "incidents: list[str] -> cause: str", limits: { turns: 20, calls: 39 } },
      inputs: [{ name: "incidents", type: "list", chars: 90_122, preview: '["Report 0: …"]' }],
    }),
    at(5735, { type: "turn_start", run: "rlm-7f3a.1", turn: 1, of: 20 }),
    ...call(
      5740,
      1400,
      "c12",
      { run: "rlm-7f3a.1", turn: 1, purpose: "root" },
      { prompt: "Turn 1/20", text: '```python\nSUBMIT(cause="overheating")\n```' },
      { usage: usage(900, 40), usd: 0.0033 },
    ),
    at(7150, { type: "code", run: "rlm-7f3a.1", turn: 1, code: 'SUBMIT(cause="overheating")' }),
    at(7160, { type: "exec_result", run: "rlm-7f3a.1", turn: 1, status: "ok", output: "", outputChars: 0, ms: 8 }),
    at(7161, { type: "submit", run: "rlm-7f3a.1", turn: 1, valid: true }),
    at(7162, { type: "finish", run: "rlm-7f3a.1", finish: "submitted", turns: 1, outputs: { cause: "overheating" } }),
    at(7163, { type: "sub_end", run: "rlm-7f3a", turn: 3, child: "rlm-7f3a.1", finish: "submitted" }),
    at(7170, { type: "exec_result", run: "rlm-7f3a", turn: 3, status: "ok", output: "", outputChars: 0, ms: 1440 }),
    at(7171, {
      ...{ type: "submit", run: "rlm-7f3a", turn: 3, valid: false },
      errors: [{ path: "count", message: 'expected int, got str "six"' }],
    }),
    at(7172, { type: "turn_start", run: "rlm-7f3a", turn: 4, of: 20 }),
    ...call(
      7180,
      640,
      "c13",
      { run: "rlm-7f3a", turn: 4, purpose: "root" },
      { prompt: "SUBMIT was refused: …\n\nTurn 4/20", text: '```python\nSUBMIT(component="pump", count=6)\n```' },
      { usage: usage(90, 30, 1900), usd: 0.0014 },
    ),
    at(7830, { type: "code", run: "rlm-7f3a", turn: 4, code: 'SUBMIT(component="pump", count=6)' }),
    at(7840, { type: "exec_result", run: "rlm-7f3a", turn: 4, status: "ok", output: "", outputChars: 0, ms: 6 }),
    at(7841, { type: "submit", run: "rlm-7f3a", turn: 4, valid: true }),
    at(7842, {
      type: "finish",
      run: "rlm-7f3a",
      finish: "submitted",
      turns: 4,
      outputs: { component: "pump", count: 6 },
    }),
  ].sort((a, b) => a.at - b.at);
}

export async function writeSampleTrajectory(path: string): Promise<void> {
  await using writer = await TrajectoryWriter.create(path);
  for (const event of sampleTrajectory()) writer.add(event);
}
