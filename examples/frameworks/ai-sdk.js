// A model of the AI SDK runs code in a session. Needs `npm install ai` and AI_GATEWAY_API_KEY; MODEL is any name that the AI SDK knows.
import { generateText, stepCountIs } from "ai";
import { Codecell } from "codecell";
import { codeTool } from "codecell/ai-sdk";

/** Also called by a test, with a fake model. */
export async function main(model = process.env.MODEL ?? "anthropic/claude-sonnet-5") {
  const codecell = await Codecell.open();
  try {
    const session = await codecell.session();
    const { text } = await generateText({
      model,
      tools: { run: codeTool(session) },
      stopWhen: stepCountIs(10),
      prompt: "What is the sum of the first 1000 prime numbers? Compute it.",
    });
    return text;
  } finally {
    await codecell.close();
  }
}

if (import.meta.main ?? process.argv[1] === import.meta.filename) console.log(await main());
