/**
 * A scripted model for benchmarks. It has no other knowledge than the text in its prompt, refuses prompts over its context limit,
 * and reads only the first lines of a prompt: asked about a whole text it fails, as a model that loses track does.
 */
export function scriptedReader({ contextChars, seenLines, delayMs = 0 }) {
  const requests = [];
  return {
    name: "scripted",
    requests,
    async complete({ system, messages }, { signal }) {
      const prompt = messages.at(-1).text;
      requests.push(prompt.length);
      if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
      signal.throwIfAborted();
      const text = system === undefined ? read(prompt) : write(messages);
      const characters = messages.reduce((sum, one) => sum + one.text.length, (system ?? "").length);
      return { text, stop: "end", usage: usage(characters, text.length) };
    },
  };

  function read(prompt) {
    if (prompt.length > contextChars) return "the prompt is too long";
    const [question, ...lines] = prompt.split("\n");
    return answer(question, lines.slice(0, seenLines));
  }
}

const usage = (read, written) => ({
  ...{ inputTokens: Math.ceil(read / 4), outputTokens: Math.ceil(written / 4) },
  ...{ cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
});

/** What a reader says about the lines that it sees. */
function answer(question, lines) {
  const [, word] = /^What is the code of (\w+)\?/.exec(question) ?? [];
  if (word !== undefined) {
    const line = lines.find((one) => one.includes(`The code of ${word} is `));
    return /is (\d+)/.exec(line ?? "")?.[1] ?? "unknown";
  }
  const [, label] = / label (\w+)/.exec(question) ?? [];
  const labelled = lines.filter((line) => line.endsWith(`: ${label}`));
  if (question.startsWith("How many")) return String(labelled.length);
  return [...new Set(labelled.map((line) => line.split(" ")[1].replace(":", "")))].join(",");
}

/** The code that a root model writes: ask about parts, then combine. It sees the question, and not the text. */
function write(messages) {
  const first = messages[0].text;
  const combine = first.includes("What is the code of")
    ? `SUBMIT(answer=next((one for one in answers if one != "unknown"), "unknown"))`
    : first.includes("How many")
      ? "SUBMIT(answer=str(sum(int(one) for one in answers)))"
      : [
          'users = sorted({user for one in answers for user in one.split(",") if user})',
          'SUBMIT(answer=" ".join(a + "+" + b for at, a in enumerate(users) for b in users[at + 1:]))',
        ].join("\n");
  const ask = [
    "lines = text.splitlines()",
    'prompts = [question + "\\n" + "\\n".join(lines[at:at + 150]) for at in range(0, len(lines), 150)]',
    "answers = llm_query_batched(prompts)",
    'print(len(prompts), [str(one) for one in answers if not getattr(one, "ok", True)][:2])',
  ].join("\n");
  return `\`\`\`python\n${messages.length === 1 ? ask : combine}\n\`\`\``;
}
