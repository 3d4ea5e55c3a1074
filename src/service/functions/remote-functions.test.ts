import { expect, test } from "vitest";
import type { HostCallContext, HostFunctions } from "../../sessions/functions/host-function.ts";
import type { Session } from "../../sessions/session.ts";
import { RemoteFunctions } from "./remote-functions.ts";

test("calls with large arguments are fetched a few at a time, each of them once", async () => {
  let table: HostFunctions = {};
  const session = {
    expose: async (functions: HostFunctions) => {
      table = functions;
      return { [Symbol.asyncDispose]: async () => {} };
    },
  } as unknown as Session;
  const functions = new RemoteFunctions(session);
  await functions.declare([{ name: "keep", description: "Keeps text.", input: { type: "object" } }]);
  const { signal } = new AbortController();
  for (const length of [600_000, 300_000, 200_000, 2_000_000, 10, 10]) {
    void table.keep?.call({ text: "x".repeat(length) }, { run: 1, signal } as HostCallContext);
  }
  const fetched = async (after?: number) =>
    (await functions.next({ waitMs: 0, signal, ...(after === undefined ? {} : { after }) })).map(({ call }) => call);
  expect([await fetched(), await fetched(), await fetched(), await fetched(), await fetched()]).toEqual([
    [1, 2],
    [3],
    [4],
    [5, 6],
    [],
  ]);
  expect([await fetched(1), await fetched(3)]).toEqual([[2, 3], [4]]);
});
