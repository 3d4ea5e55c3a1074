// An agent of the OpenAI Agents SDK runs code in a session. Needs `npm install @openai/agents` and OPENAI_API_KEY.
import { Agent, run } from "@openai/agents";
import { Codecell } from "codecell";
import { codeTool } from "codecell/openai-agents";

/** Also called by a test, with a fake model. */
export async function main(model = process.env.MODEL) {
  const codecell = await Codecell.open();
  try {
    const session = await codecell.session();
    const agent = new Agent({
      name: "Analyst",
      instructions: "Compute with run_python instead of guessing.",
      tools: [await codeTool(session)],
      ...(model === undefined ? {} : { model }),
    });
    const { finalOutput } = await run(agent, "What is the sum of the first 1000 prime numbers?");
    return finalOutput;
  } finally {
    await codecell.close();
  }
}

if (import.meta.main ?? process.argv[1] === import.meta.filename) console.log(await main());
