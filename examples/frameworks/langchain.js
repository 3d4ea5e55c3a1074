// A deep agent works in a session: its shell and its file tools are the cell's. Needs `npm install deepagents langchain @langchain/core
// @langchain/anthropic` and ANTHROPIC_API_KEY; MODEL is any name that LangChain knows.
import { Codecell } from "codecell";
import { codeTool, sessionBackend } from "codecell/langchain";
import { createDeepAgent } from "deepagents";

/** Also called by a test, with a fake model. */
export async function main(model = process.env.MODEL ?? "anthropic:claude-sonnet-5") {
  const codecell = await Codecell.open();
  try {
    const session = await codecell.session();
    const agent = createDeepAgent({ model, backend: sessionBackend(session), tools: [await codeTool(session)] });
    const question = "Write the first 1000 prime numbers to /workspace/primes.txt, and tell me their sum.";
    const { messages } = await agent.invoke({ messages: [{ role: "user", content: question }] });
    return messages.at(-1)?.text;
  } finally {
    await codecell.close();
  }
}

if (import.meta.main ?? process.argv[1] === import.meta.filename) console.log(await main());
