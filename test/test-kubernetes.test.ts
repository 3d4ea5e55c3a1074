import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
// @ts-expect-error a script without types
import { figuresText } from "../scripts/test-kubernetes/figures/figures.js";
// @ts-expect-error a script without types
import { modelOf } from "../scripts/test-kubernetes/figures/model.js";
// @ts-expect-error a script without types
import { mergeReports } from "../scripts/test-kubernetes/figures/record.js";
// @ts-expect-error a script without types
import { filterOf, isolationOf } from "../scripts/test-kubernetes/policy-engine/isolation.js";

const scripts = fileURLToPath(new URL("../scripts/test-kubernetes", import.meta.url));

describe("the fake policy engine of the test cluster", () => {
  const pod = { labels: { app: "cell" } };
  const denyAll = { spec: { podSelector: {}, policyTypes: ["Ingress", "Egress"] } };

  test("isolates a pod only if a policy selects it", () => {
    const other = { spec: { podSelector: { matchLabels: { app: "other" } }, policyTypes: ["Ingress", "Egress"] } };
    expect(isolationOf(pod, [])).toMatchObject({ deniesIngress: false, deniesEgress: false });
    expect(isolationOf(pod, [other])).toMatchObject({ deniesIngress: false, deniesEgress: false });
    expect(isolationOf(pod, [other, denyAll])).toMatchObject({ deniesIngress: true, deniesEgress: true });
  });

  test("reads a policy without types as Kubernetes does: incoming traffic, and outgoing if it has such rules", () => {
    expect(isolationOf(pod, [{ spec: { podSelector: {} } }])).toMatchObject({
      deniesIngress: true,
      deniesEgress: false,
    });
  });

  test("selects by expressions", () => {
    const policy = (operator: string, values?: string[]) => ({
      spec: { podSelector: { matchExpressions: [{ key: "app", operator, values }] }, policyTypes: ["Egress"] },
    });
    const denies = (operator: string, values?: string[]) => isolationOf(pod, [policy(operator, values)]).deniesEgress;
    expect([denies("In", ["cell"]), denies("NotIn", ["cell"]), denies("Exists")]).toEqual([true, false, true]);
    expect([denies("In", ["other"]), denies("NotIn", ["other"]), denies("DoesNotExist")]).toEqual([false, true, false]);
  });

  test("names policies with exceptions, which it does not know, and denies everything", () => {
    const policy = { metadata: { name: "some" }, spec: { ...denyAll.spec, egress: [{ ports: [{ port: 53 }] }] } };
    expect(isolationOf(pod, [policy])).toEqual({ deniesIngress: true, deniesEgress: true, unknown: ["some"] });
  });

  test("lets an isolated pod reach nothing but itself", () => {
    const filter = filterOf({ deniesIngress: true, deniesEgress: true });
    expect(filter).toContain(":INPUT DROP");
    expect(filter).toContain(":OUTPUT DROP");
    const accepted = filter.split("\n").filter((line: string) => line.includes("ACCEPT"));
    expect(accepted).toEqual(["-A INPUT -i lo -j ACCEPT", "-A OUTPUT -o lo -j ACCEPT"]);
  });
});

describe("the figures of the test cluster", () => {
  const mib = 2 ** 20;
  const figures = {
    ...{ nodeBytesPerSession: 30 * mib, gatewayBytes: 200 * mib, gatewayBytesPerSession: mib },
    gatewayCpuMsPerIdleSessionSecond: 0.1,
  };

  test("are scaled by the tightest of a node's limits", () => {
    expect(modelOf(10_000, figures)).toMatchObject({ perNode: 110, nodes: 91, perNodeByMemory: 2048, clusters: 1 });
    expect(modelOf(10_000, { ...figures, nodeBytesPerSession: 1024 * mib })).toMatchObject({ perNode: 60, nodes: 167 });
  });

  test("are scaled by the tightest of a gateway's limits", () => {
    expect(modelOf(10_000, figures)).toMatchObject({ perGateway: 1848, gateways: 6 });
    expect(modelOf(10_000, { ...figures, gatewayCpuMsPerIdleSessionSecond: 1 })).toMatchObject({ perGateway: 500 });
  });

  test("keep the steps that a later run left out, each with its date", () => {
    const before = { at: "2026-11-01", node: "20", steps: [{ name: "pool", at: "2026-11-01", detail: "old" }] };
    const later = (name: string) => mergeReports(before, { at: "2026-11-02", node: "22", steps: [{ name }] });
    expect(later("contract")).toEqual({
      ...{ at: "2026-11-02", node: "22" },
      steps: [{ name: "contract", at: "2026-11-02" }, before.steps[0]],
    });
    expect(later("pool").steps).toEqual([{ name: "pool", at: "2026-11-02" }]);
  });

  test("have the date, the versions and a model that is called one", () => {
    const facts = {
      at: "2026-11-17T20:00:00.000Z",
      kubernetes: "v1.20.2",
      containerd: "containerd://1.6",
      machine: "2 cores",
    };
    const step = {
      at: facts.at,
      name: "pool",
      asks: "how long?",
      status: "passed",
      seconds: 1,
      detail: "a | b\nmore",
      figures,
    };
    const text = figuresText({ ...facts, codecell: "0.1.0", node: "20", steps: [step] });
    expect(text).toContain(
      "2026-11-17 20:00 UTC, codecell 0.1.0, Kubernetes v1.20.2, containerd://1.6, Node 20; 2 cores",
    );
    expect(text).toContain("| pool | how long? | **passed**: a \\| b | 2026-11-17 20:00 |");
    expect(text).toContain("A model, not a measurement");
    expect(text).toContain("| 100,000 | 110 | 910 |");
  });
});

test("the shell scripts of the test cluster can be parsed", () => {
  const found = readdirSync(scripts, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".sh"));
  expect(found).not.toEqual([]);
  for (const name of found) execFileSync("bash", ["-n", join(scripts, name)]);
});
