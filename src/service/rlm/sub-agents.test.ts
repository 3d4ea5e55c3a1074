import { expect, test } from "vitest";
import { CodecellError } from "../../lib/errors.ts";
import type { Session } from "../../sessions/session.ts";
import { SubAgents } from "./sub-agents.ts";

const request = { signature: "question -> answer", inputs: { question: { value: "why?" } } };
const session = {} as Session;

test("sub-agents that are started together count against the limit of four before any of them works", async () => {
  const unavailable = new CodecellError("model_unavailable", "there is no key");
  let asked = 0;
  await using agents = new SubAgents({
    access: async () => {
      asked++;
      throw unavailable;
    },
    newSession: () => Promise.reject(unavailable),
  });
  const starts = await Promise.allSettled(Array.from({ length: 6 }, () => agents.start(session, request)));
  const codes = starts.map((start) => start.status === "rejected" && (start.reason as CodecellError).code);
  expect(codes).toEqual([...Array.from({ length: 4 }, () => "model_unavailable"), "run_limit", "run_limit"]);
  expect(asked).toBe(4);
  // a start that failed gives its place back
  await expect(agents.start(session, request)).rejects.toBe(unavailable);
});
