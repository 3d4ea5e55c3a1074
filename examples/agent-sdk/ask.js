// An agent that runs code, and only in a sandbox. It needs a key: ANTHROPIC_API_KEY=… node ask.js "your question"
import { sandboxedQuery } from "codecell/agent-sdk";

const prompt = process.argv[2] ?? "Use Python: how many prime numbers are there below 10,000?";

const query = sandboxedQuery({
  prompt,
  options: {
    sandboxPolicy: { proc: { timeout: "20s", memory: "1GiB" } },
    onSession: ({ receipt, session }) => console.log(`session ${session.id} in ${receipt.runner}`),
    onDecision: ({ request, isAllowed, reason }) =>
      console.log(`${isAllowed ? "allowed" : "denied"} ${request.tool}: ${reason}`),
  },
});

for await (const message of query) {
  if (message.type === "result") console.log(message.subtype === "success" ? message.result : message.errors);
}
