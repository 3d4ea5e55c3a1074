import { expect, test } from "vitest";
import { FakeRunner } from "../../test/fakes/fake-runner.ts";
import { parsePolicy } from "../policy/file/parse-policy.ts";
import { chooseRunner } from "./registry.ts";

const missing = { available: false, reason: "it is not here", hint: "bring it" } as const;

test("the last runner that may be chosen is told so: it need not hurry for another", async () => {
  const process = new FakeRunner({ name: "process", probe: missing });
  const wasm = new FakeRunner({ name: "wasm" });
  expect((await chooseRunner([wasm, process], parsePolicy({}))).runner).toBe(wasm);
  expect(process.probed).toEqual([{ isWanted: false, isPatient: false }]);
  expect(wasm.probed).toEqual([{ isWanted: false, isPatient: true }]);
});
