import { expect, test } from "vitest";
import { CodecellError } from "../../lib/errors.ts";
import { type RestoringKernel, restoreVariables } from "./restore-variables.ts";

function entry(name: string): Buffer {
  const header = Buffer.from(JSON.stringify({ name, codec: "pickle" }));
  const prefix = Buffer.alloc(12);
  prefix.writeUInt32LE(header.length, 0);
  prefix.writeBigUInt64LE(2n, 4);
  return Buffer.concat([prefix, header, Buffer.from("xx")]);
}

/** An interpreter that these variables end, and what it has at last. */
function fakeKernel(culprits: readonly string[]) {
  const state = { restored: [] as string[], deaths: 0, isAlive: true };
  const kernel: RestoringKernel = {
    get isAlive() {
      return state.isAlive;
    },
    async restore(data) {
      const names = [
        ...Buffer.from(data)
          .toString("latin1")
          .matchAll(/"name":"(\w+)"/g),
      ].map(([, name = ""]) => name);
      state.restored = names;
      if (!names.some((name) => culprits.includes(name))) return names.includes("odd") ? [odd] : [];
      state.restored = [];
      state.deaths++;
      throw new CodecellError("cell_lost", "the interpreter crashed");
    },
  };
  return { kernel, state };
}

const odd = { name: "odd", reason: "ImportError" };
const names = Array.from({ length: 100 }, (_, at) => `v${at}`);
const snapshot = (all = names) => Buffer.concat(all.map(entry));
const reason = "loading it ended the interpreter";

test("a snapshot without harm is restored at once", async () => {
  const { kernel, state } = fakeKernel([]);
  expect(await restoreVariables(kernel, snapshot([...names, "odd"]))).toEqual([odd]);
  expect([state.restored.length, state.deaths]).toEqual([101, 0]);
});

test.each([[["v0"]], [["v99"]], [["v3", "v50", "v51"]]])(
  "only the variables %j, which end the interpreter, are not restored",
  async (culprits) => {
    const { kernel, state } = fakeKernel(culprits);
    const failures = await restoreVariables(kernel, snapshot([...names, "odd"]));
    expect(failures).toEqual([...culprits.map((name) => ({ name, reason })), odd]);
    expect(state.restored).toEqual([...names.filter((name) => !culprits.includes(name)), "odd"]);
    expect(state.deaths).toBeLessThan(9 * culprits.length);
  },
);

test("the search for variables that end the interpreter ends, and keeps what was found to be harmless", async () => {
  const { kernel, state } = fakeKernel(names.filter((_, at) => at % 2 === 1));
  const failures = await restoreVariables(kernel, snapshot());
  expect(state.restored).toEqual(["v0", "v2", "v4", "v6", "v8", "v10", "v12", "v14"]);
  expect(failures.length).toBe(92);
  expect(failures[0]).toEqual({ name: "v1", reason });
  expect(failures.at(-1)).toEqual({ name: "v99", reason: "others ended the interpreter" });
});

test("a cell that is gone is not tried again", async () => {
  const { kernel, state } = fakeKernel(["v1"]);
  state.isAlive = false;
  await expect(restoreVariables(kernel, snapshot())).rejects.toMatchObject({ code: "cell_lost" });
  expect(state.deaths).toBe(1);
});
