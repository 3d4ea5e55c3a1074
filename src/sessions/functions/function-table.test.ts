import { expect, test } from "vitest";
import { FunctionTable } from "./function-table.ts";

const session = {
  id: () => "s",
  runNumber: (run: number) => run,
  fork: async () => {
    throw new Error("not here");
  },
  record: () => {},
};

test("arguments of calls that are not answered yet have a limit on their values together", async () => {
  const answers: ((value: unknown) => void)[] = [];
  const keep = {
    ...{ description: "Keeps rows.", input: { type: "object", properties: { rows: { type: "array" } } } },
    call: () => new Promise((resolve) => answers.push(resolve)),
  };
  const table = new FunctionTable({ keep }, session);
  const rows = Buffer.from(JSON.stringify({ rows: Array.from({ length: 240_000 }, () => ({})) }));
  const { signal } = new AbortController();
  let call = 0;
  const ask = () => table.answer({ run: 1, call: ++call, name: "keep", arguments: rows, signal });
  const open = [ask(), ask()];
  await expect(ask()).rejects.toThrow("too many values are in calls that are not answered yet");
  answers[0]?.("done");
  expect(String(await open[0])).toBe('"done"');
  const third = ask(); // the first one has made room for it
  answers[2]?.("done too");
  expect(String(await third)).toBe('"done too"');
});
