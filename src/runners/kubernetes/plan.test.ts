import { expect, test } from "vitest";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import { isHostRule, policyRules } from "../../policy/rules.ts";
import { type ClusterFacts, planKubernetes } from "./plan.ts";

const facts: ClusterFacts = {
  ...{ version: "1.31", image: "python:3.12", operatorImage: "python:3.12", runtimeClass: undefined },
  ...{ network: { by: "policy", provedMs: 120_000 }, sizesMemoryFiles: true, channel: "portforward" },
};
const plan = (policy: object = {}, own: Partial<ClusterFacts> = {}) =>
  planKubernetes(parsePolicy(policy), { ...facts, ...own });
const refusals = (...parts: Parameters<typeof plan>) => plan(...parts).refused.map(({ rule }) => rule);
const row = (rule: string, ...parts: Parameters<typeof plan>) => plan(...parts).rules.find((one) => one.rule === rule);

test("every rule of the default policy has a row, and none is refused", () => {
  const expected = policyRules(parsePolicy({}))
    .map(({ rule }) => rule)
    .filter((rule) => !isHostRule(rule));
  expect(plan().rules.map(({ rule }) => rule)).toEqual(expected);
  expect(plan().refused).toEqual([]);
});

test("a closed network is refused where nothing proves it, also with the proxy", () => {
  const network = { by: "nothing", reason: "policies are ignored", hint: "use another cluster" } as const;
  for (const enabled of [false, true]) {
    expect(plan({ net: { enabled } }, { network }).refused).toEqual([
      expect.objectContaining({ rule: "net.enabled", reason: "policies are ignored", hint: "use another cluster" }),
    ]);
  }
});

test("the receipt says what closes the network and how old the proof is", () => {
  expect(row("net.enabled")?.how).toBe(
    "a NetworkPolicy without any rule; probe pods showed 2 min ago that this cluster enforces it",
  );
  const network = { by: "own-namespace", withoutRuntimeFilter: true } as const;
  expect(row("net.enabled", {}, { network })?.how).toContain("a network namespace of the cell's own");
  expect(plan({}, { network }).notes.join("\n")).toContain("no system call filter of its runtime");
});

test("another image than the operator's is refused where the image's own Python has to leave the network", () => {
  const network = { by: "own-namespace", withoutRuntimeFilter: true } as const;
  const image = "evil:1";
  expect(refusals({ kernel: { image } }, { network, image })).toEqual(["kernel.image"]);
  expect(refusals({ kernel: { image } }, { image })).toEqual([]);
  expect(refusals({}, { image: undefined })).toEqual(["kernel.image"]);
  const open = { by: "nothing", reason: "policies are ignored", hint: "use another cluster" } as const;
  expect(refusals({ kernel: { image } }, { network: open, image })).toEqual(["net.enabled", "kernel.image"]);
});

test("directories of the gateway's machine, its Python and its packages are refused with what to do instead", () => {
  const refused = plan({
    fs: { workspace: "/srv/work", deps: "/srv/deps", mounts: [{ source: "/srv/data", target: "/data" }] },
  }).refused;
  expect(refusals({ kernel: { packages: { install: ["six"] } } })).toEqual(["kernel.packages"]);
  expect(refused.map(({ rule }) => rule)).toEqual(["fs.workspace", "fs.deps", "fs.mounts"]);
  expect(refused.map(({ hint }) => hint).join("\n")).toMatch(/upload the files.*\n.*image.*\n.*upload/);
  expect(refusals({ kernel: { python: "/usr/bin/python3" } })).toEqual(["kernel.python"]);
});

test("an isolation above containers is refused unless the class is one of gVisor, which each cell checks", () => {
  expect(refusals({ isolation: { minimum: "gvisor" } })).toEqual(["isolation.minimum"]);
  expect(refusals({ isolation: { minimum: "gvisor" } }, { runtimeClass: "fast" })).toEqual(["isolation.minimum"]);
  expect(row("isolation.minimum", { isolation: { minimum: "gvisor" } }, { runtimeClass: "gvisor" })?.how).toContain(
    "each cell checks",
  );
  expect(row("proc.pids", {}, { runtimeClass: "gvisor" })?.how).toMatch(/in the cell's own OS kernel.*a count by the/);
});

test("the receipt says that frames are in the node's log where they are", () => {
  expect(plan().notes.join("\n")).not.toContain("log of the pod");
  expect(plan({}, { channel: "attach" }).notes.join("\n")).toContain("log of the pod");
});

test("the receipt of a cell from a warm pool says who made the pod, and what holds the number of processes", () => {
  expect(row("proc.pids")?.how).toContain("a uid that no other cell of this gateway has");
  expect(row("proc.pids", {}, { isPooled: true })?.how).toContain("a user namespace of the pod's own");
  expect(plan({}, { isPooled: true }).notes.join("\n")).toContain("agent-sandbox made the pod");
  expect(plan().notes.join("\n")).not.toContain("agent-sandbox");
});

test("an exact disk is refused where kubelets give files in memory no size", () => {
  expect(refusals({ proc: { exactDisk: true } }, { sizesMemoryFiles: false })).toEqual(["proc.exactDisk"]);
  expect(row("proc.disk", {}, { sizesMemoryFiles: false })?.by).toBe("supervisor watchdog");
  expect(row("proc.disk")?.by).toBe("os");
  for (const sizesMemoryFiles of [true, false]) {
    expect(row("proc.disk", {}, { sizesMemoryFiles })?.how).toContain("4 KiB");
    const { how } = row("proc.disk", {}, { sizesMemoryFiles, runtimeClass: "gvisor" }) ?? {};
    expect(how).toContain("gVisor does not count files without content");
    expect(how).not.toContain("4 KiB");
  }
});
