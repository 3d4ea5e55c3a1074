import { expect, test } from "vitest";
import { FakeRunner } from "../../test/fakes/fake-runner.ts";
import { parsePolicy } from "../policy/file/parse-policy.ts";
import { chooseRunner } from "./registry.ts";

const missing = { available: false, reason: "it is not here", hint: "bring it" } as const;

test("the last runner that auto can choose is probed with the longer timeout", async () => {
  const process = new FakeRunner({ name: "process", probe: missing });
  const wasm = new FakeRunner({ name: "wasm" });
  expect((await chooseRunner([wasm, process], parsePolicy({}))).runner).toBe(wasm);
  expect(process.probed).toEqual([{ isWanted: false, isPatient: false }]);
  expect(wasm.probed).toEqual([{ isWanted: false, isPatient: true }]);
});

test("auto ranks runners by the isolation that they declare, not by their names", async () => {
  const weak = new FakeRunner({ name: "microvm", isolation: "srt" });
  const strong = new FakeRunner({ name: "wasm", isolation: "gvisor" });
  expect((await chooseRunner([weak, strong], parsePolicy({}))).runner).toBe(strong);
  const policy = parsePolicy({ isolation: { minimum: "gvisor" } });
  expect((await chooseRunner([weak, strong], policy)).runner).toBe(strong);
  await expect(chooseRunner([weak], policy)).rejects.toMatchObject({
    code: "policy_refused",
    details: { passedOver: [{ kind: "below_minimum", runner: "microvm" }] },
  });
});

test("a policy that no runner can enforce is refused, and the error lists why each runner was skipped", async () => {
  const refused = [{ rule: "proc.cpus", value: "1", reason: "refuses nothing", hint: "" }];
  const runners = [new FakeRunner({ name: "process", probe: missing }), new FakeRunner({ name: "wasm", refused })];
  await expect(chooseRunner(runners, parsePolicy({}))).rejects.toMatchObject({
    code: "policy_refused",
    details: { passedOver: [{ kind: "unavailable" }, { kind: "refused" }] },
  });
});

test("an unavailable runner is not reported as a refused policy, whatever its reason says", async () => {
  const probe = { available: false, reason: "refuses to start", hint: "" } as const;
  await expect(chooseRunner([new FakeRunner({ probe })], parsePolicy({}))).rejects.toMatchObject({
    code: "runner_unavailable",
    details: { passedOver: [{ kind: "unavailable" }] },
  });
});

test("a refused policy has a hint that starts with what an available runner needs, and says each reason once", async () => {
  const refused = [{ rule: "kernel.image", value: "x", reason: "no images", hint: "remove kernel.image" }];
  const runners = [
    new FakeRunner({ name: "gvisor", probe: missing }),
    new FakeRunner({ name: "container", probe: missing }),
    new FakeRunner({ name: "process", refused }),
  ];
  await expect(chooseRunner(runners, parsePolicy({}))).rejects.toMatchObject({
    message: expect.stringContaining(
      "(gvisor, container: it is not here; process: refuses kernel.image (x): no images)",
    ),
    hint: expect.stringMatching(
      /^for process: remove kernel\.image; or for gvisor, container: bring it; or `codecell policy explain`/,
    ),
  });
});

test("a policy that every available runner refuses has a hint with what to change for each of them", async () => {
  const runners = [
    new FakeRunner({ name: "process", refused: [{ rule: "a", value: "1", reason: "no a", hint: "remove a" }] }),
    new FakeRunner({ name: "wasm", refused: [{ rule: "b", value: "2", reason: "no b", hint: "remove b" }] }),
  ];
  await expect(chooseRunner(runners, parsePolicy({}))).rejects.toMatchObject({
    message: "no available runner can enforce this policy (process: refuses a (1): no a; wasm: refuses b (2): no b)",
    hint: expect.stringMatching(/^for process: remove a; or for wasm: remove b; or `codecell policy explain` shows/),
  });
});

test("a minimum that no runner of this version reaches says so, and proposes to install nothing", async () => {
  const policy = parsePolicy({ isolation: { minimum: "microvm" } });
  await expect(chooseRunner([new FakeRunner({ name: "process" })], policy)).rejects.toMatchObject({
    code: "policy_refused",
    hint: expect.stringMatching(/^lower isolation\.minimum: this version has no microvm runner; or `codecell policy/),
  });
});
