import { parsePolicy } from "../dist/index.js";
import { ModelAccess } from "../dist/rlm/access/model-access.js";
import { SessionModels } from "../dist/rlm/access/session-models.js";
import { runRlm } from "../dist/rlm/loop/run-rlm.js";
import { sessionCell } from "../dist/rlm/loop/session-cell.js";
import { processRunner } from "../dist/runners/process/runner.js";
import { median, ms, row, timed } from "./harness.js";
import { aggregation, needle, pairs } from "./rlm-tasks.js";
import { scriptedReader } from "./scripted-reader.js";
import { withSessions } from "./with-sessions.js";

const model = "scripted/reader";
const sizes = { "8 K": 8_000, "64 K": 64_000, "1 M": 1_000_000 };
const seeds = [1, 2, 3];
const reader = { contextChars: 200_000, seenLines: 180 };
const [subCalls, width, callMs, rounds] = [200, 16, 50, 5];

/** Recursive runs with a scripted model: what the runtime does with answers, and how wide sub-calls are. Says nothing about real models. */
export function rlm() {
  const policy = parsePolicy({
    proc: { memory: "1GiB", timeout: "5m" },
    llm: {
      ...{ models: [model], usd: "unlimited", tokens: 1_000_000_000, calls: 10_000, concurrency: width },
      promptChars: 2_000_000,
    },
  });
  return withSessions({ policy, runners: [processRunner()], hostCalls: { models: true } }, async (codecell) => [
    ...(await scores(codecell, policy)),
    await manySubCalls(codecell, policy),
  ]);
}

async function scores(codecell, policy) {
  const rows = [];
  for (const [name, make] of Object.entries({ needle, aggregation, pairs })) {
    for (const [size, characters] of Object.entries(sizes)) {
      const [ours, baseline] = [[], []];
      for (const seed of seeds) {
        const task = make(characters, seed);
        ours.push(task.score(await recursive(codecell, policy, task)));
        baseline.push(task.score(await oneShot(task)));
      }
      const what = `${name}, ${size} characters: score`;
      const detail = `one-shot baseline ${mean(baseline).toFixed(2)} (runtime, scripted model)`;
      // The reader makes no mistakes within what it sees, so any loss is the runtime's.
      rows.push(row(what, mean(ours), { atLeast: 1 }, detail));
    }
  }
  return rows;
}

async function recursive(codecell, policy, { question, text }) {
  const access = accessTo(policy, scriptedReader(reader));
  const session = await codecell.session();
  try {
    const run = runRlm({
      ...{ signature: "question, text -> answer: str", cell: sessionCell(session), root: model, sub: model },
      ...{ inputs: { question: { value: question }, text: { value: text } }, limits: access.limits() },
      ...{ budget: access.budget, models: access.gateway({ session: session.key, audit: undefined }) },
    });
    const { outputs, finish, message } = await run.result;
    if (outputs === null) throw new Error(`${finish}: ${message}`);
    return outputs.answer;
  } finally {
    await session.close({ forget: true });
  }
}

/** The same model, asked once about everything. */
async function oneShot({ question, text }) {
  const request = { model, messages: [{ role: "user", text: `${question}\n${text}` }], maxTokens: 8192 };
  const answer = await scriptedReader(reader).complete(request, { signal: new AbortController().signal });
  if (!question.startsWith("Which pairs")) return answer.text;
  const users = answer.text.split(",").filter((user) => user !== "");
  return users
    .sort()
    .flatMap((a, at) => users.slice(at + 1).map((b) => `${a}+${b}`))
    .join(" ");
}

async function manySubCalls(codecell, policy) {
  const session = await codecell.session();
  await new SessionModels(accessTo(policy, scriptedReader({ ...reader, delayMs: callMs }))).prepare(session);
  const code = `answers = llm_query_batched([f"How many lines have the label x{at}?" for at in range(${subCalls})])\nassert len(answers) == ${subCalls} and all(one == "0" for one in answers)`;
  const took = [];
  for (let round = 0; round < rounds; round++) {
    took.push(
      await timed(async () => {
        const { status, error } = await session.run(code);
        if (status !== "ok") throw new Error(error?.message ?? status);
      }),
    );
  }
  const ideal = Math.ceil(subCalls / width) * callMs;
  const what = `${subCalls} llm_query of ${callMs} ms, ${width} wide / ideal`;
  return row(what, median(took) / ideal, { atMost: 1.3 }, `${ms(median(took))} / ${ms(ideal)}`);
}

function accessTo(policy, client) {
  return ModelAccess.open(() => policy, { root: model, sub: model, clientFor: () => client });
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
