import { expect, test } from "vitest";
import type { GuestCall } from "../../kernel/guest-calls.ts";
import { type CallRecord, FunctionTable } from "./function-table.ts";

/** Calls a function that returns this; gives the answer as text, or the failure that the program sees. */
async function answer(value: unknown): Promise<{ told: unknown; record: CallRecord | undefined }> {
  const records: CallRecord[] = [];
  const session = {
    ...{ id: () => "s", runNumber: (id: number) => id, record: (call: CallRecord) => records.push(call) },
    fork: () => Promise.reject(new Error("no test forks here")),
  };
  const table = new FunctionTable(
    { price: { description: "", input: { type: "object" }, call: () => value } },
    session,
  );
  const call = { run: 1, call: 1, name: "price", arguments: Buffer.from("{}"), signal: new AbortController().signal };
  const told = await table.answer(call as GuestCall).then(
    (bytes) => Buffer.from(bytes).toString(),
    (error: unknown) => error,
  );
  return { told, record: records[0] };
}

test.each([
  [{ euros: [1.5, null] }, '{"euros":[1.5,null]}'],
  [new Date(0), '"1970-01-01T00:00:00.000Z"'],
  [undefined, ""],
])("a host function's result reaches the program as JSON, and undefined as nothing: %o", async (value, json) => {
  expect((await answer(value)).told).toBe(json);
});

test.each([
  [() => 1, "a function"],
  [Symbol("secret"), "a symbol"],
  [10n, "a BigInt"],
  [Number.NaN, "NaN"],
  [new Map([[1, 2]]), "an instance of Map"],
  [{ rows: [{ price: 1 }, { price: Number.NaN }] }, "NaN at rows[1].price"],
])(
  "a host function's result that is not JSON is an error with the function's name and the place: %o",
  async (value, what) => {
    const { told, record } = await answer(value);
    expect(told).toMatchObject({ type: "HostError", message: `price returned a value that is not JSON: ${what}` });
    expect(record).toMatchObject({ status: "failed", error: "HostError", outputBytes: 0 });
  },
);

const idle = {
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
  const table = new FunctionTable({ keep }, idle);
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
