import { describe, expect, test } from "vitest";
import { CodecellError } from "../../../lib/errors.ts";
import { hardenedPod } from "../pod/hardened-pod.ts";
import type { ClaimUse } from "../settings.ts";
import { optionalRules, requiredRules } from "../verbs.ts";
import type { CellTrial, ClusterQuestion, ClusterQuestions } from "./cluster-check.ts";
import { diagnoseCluster } from "./diagnose-cluster.ts";
import { quantity } from "./quantity.ts";

const nowMs = Date.parse("2026-01-01T12:00:00Z");
const disk = { "ephemeral-storage": "1048576" };
const resources = {
  limits: { cpu: "1000m", memory: "1073741824", ...disk },
  requests: { cpu: "100m", memory: "268435456", ...disk },
};
const pod = hardenedPod({
  ...{
    name: "codecell-doctor",
    labels: {},
    image: "python:3.12",
    command: ["python3"],
    user: { uid: 1000, gid: 1000 },
  },
  ...{ runtimeFilter: "default", resources, deadlineSeconds: 60, volumes: [], mounts: [] },
  ...{ runtimeClass: undefined, nodeSelector: {}, pullPolicy: undefined },
});
/** What least rights must never include: the doctor asks for them too. */
const dangerous = ["get secrets", "create pods/exec", "create pods everywhere", "create serviceaccounts/token"];

class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

interface Cluster {
  readonly refusedRights?: readonly string[];
  readonly answers?: Readonly<Record<string, unknown>>;
  readonly asked?: ClusterQuestion[];
}

/** A cluster that answers by path; what it does not know is 404. */
function cluster({ refusedRights = dangerous, answers = {}, asked = [] }: Cluster = {}): ClusterQuestions {
  const known: Record<string, unknown> = {
    "get /version": { gitVersion: "v1.33.1" },
    "create /api/v1/namespaces/cells/pods": pod,
    "list /api/v1/namespaces/cells/pods": { items: [] },
    "list /api/v1/namespaces/cells/resourcequotas": { items: [] },
    "list /apis/coordination.k8s.io/v1/namespaces/cells/leases": { items: [] },
    ...answers,
  };
  return {
    namespace: "cells",
    async json<Answer>(question: ClusterQuestion) {
      asked.push(question);
      if (question.resource === "selfsubjectaccessreviews") return review(question.body, refusedRights) as Answer;
      const answer = known[`${question.verb} ${question.path}`] ?? new Refusal(404, "not found");
      if (answer instanceof Error) throw answer;
      return answer as Answer;
    },
    explain: (error) => new CodecellError("runner_unavailable", (error as Error).message, { hint: "the hint" }),
  };
}

function review(body: unknown, refused: readonly string[]) {
  const { resourceAttributes: right } = (body as { spec: { resourceAttributes: Record<string, string> } }).spec;
  const name = `${right.verb} ${right.resource}${right.subresource ? `/${right.subresource}` : ""}`;
  const text = right.namespace === undefined && right.resource === "pods" ? `${name} everywhere` : name;
  return { status: { allowed: !refused.includes(text) } };
}

async function diagnose(
  given?: Cluster,
  more: { runtimeClass?: string; claims?: ClaimUse; tryCell?: () => Promise<CellTrial> } = {},
) {
  const { runtimeClass, claims = "auto", tryCell } = more;
  const checks = await diagnoseCluster({ api: cluster(given), pod, runtimeClass, claims, tryCell, now: () => nowMs });
  return Object.fromEntries(checks.map((check) => [check.name, check]));
}

describe("a diagnosis of a cluster", () => {
  test("finds nothing missing where everything is there, and changes nothing", async () => {
    const asked: ClusterQuestion[] = [];
    const checks = await diagnose({ asked });
    expect(Object.values(checks).filter(({ state }) => state === "missing")).toEqual([]);
    expect(checks["api server"]).toMatchObject({ state: "ok", finding: "Kubernetes v1.33.1" });
    expect(checks.cells).toMatchObject({ state: "unknown", fix: expect.stringContaining("--probe") });
    const writes = asked.filter(({ verb, resource }) => verb === "create" && resource !== "selfsubjectaccessreviews");
    expect(writes).toEqual([expect.objectContaining({ query: { dryRun: "All" } })]);
  });

  test("asks for every right of the list", async () => {
    const { rights } = await diagnose();
    const all = [...requiredRules, ...optionalRules].flatMap(({ verbs }) => verbs);
    expect(rights?.finding).toBe(`all ${all.length} that codecell needs`);
  });

  test("gives the rule to add for a missing verb", async () => {
    const { rights } = await diagnose({ refusedRights: [...dangerous, "watch pods", "create pods/attach"] });
    expect(rights).toMatchObject({ state: "missing", finding: "missing: watch pods, create pods/attach" });
    expect(rights?.fix).toContain('to its Role in cells: {apiGroups: [""], resources: [pods], verbs: [watch]}');
  });

  test("only warns about a missing right that no cell needs", async () => {
    const { rights } = await diagnose({ refusedRights: [...dangerous, "list resourcequotas"] });
    expect(rights).toMatchObject({ state: "warning", fix: expect.stringContaining("resourcequotas") });
  });

  test("warns about rights that a gateway should not have", async () => {
    const checks = await diagnose({ refusedRights: [] });
    expect(checks["other rights"]).toMatchObject({
      state: "warning",
      finding: expect.stringContaining("get secrets, create pods/exec, create pods in every namespace"),
    });
  });

  test("says why the namespace does not admit a cell", async () => {
    const refused = new Refusal(403, "violates PodSecurity");
    const { pods } = await diagnose({ answers: { "create /api/v1/namespaces/cells/pods": refused } });
    expect(pods).toEqual({ name: "pods", state: "missing", finding: "violates PodSecurity", fix: "the hint" });
  });

  test("names the field of a cell's pod that an admission rule changes", async () => {
    const changed = { ...pod, spec: { ...pod.spec, initContainers: [{ name: "mesh-init" }] } };
    const { pods } = await diagnose({ answers: { "create /api/v1/namespaces/cells/pods": changed } });
    expect(pods).toMatchObject({
      ...{ state: "missing", fix: expect.stringContaining("kubectl get mutatingwebhookconfigurations") },
      finding: expect.stringMatching(/namespace cells change the pod of a cell: spec\.initContainers was added/),
    });
  });

  describe("says who keeps warm pods", () => {
    const resources = ["sandboxclaims", "sandboxwarmpools", "sandboxtemplates"].map((name) => ({ name }));
    const answers = { "get /apis/extensions.agents.x-k8s.io/v1beta1": { resources } };
    const withoutClaims = [...dangerous, "create sandboxclaims"];

    test.each<[string, Cluster, ClaimUse, string, RegExp]>([
      ["codecell where agent-sandbox is not installed", {}, "auto", "ok", /not installed; codecell keeps warm pods/],
      ["nobody where it is required and not installed", {}, "on", "missing", /^not installed$/],
      ["agent-sandbox where it can", { answers }, "auto", "ok", /^installed; keeps warm pods/],
      ["codecell where it is turned off", { answers }, "off", "ok", /CODECELL_KUBERNETES_CLAIMS is off/],
      [
        "codecell where a right is missing",
        { answers, refusedRights: withoutClaims },
        ...(["auto", "ok", /missing: create sandboxclaims; codecell keeps/] as const),
      ],
      [
        "nobody where a right is missing and it is required",
        { answers, refusedRights: withoutClaims },
        ...(["on", "missing", /missing: create sandboxclaims$/] as const),
      ],
    ])("%s", async (_, given, claims, state, finding) => {
      const checks = await diagnose(given, { claims });
      expect(checks["agent-sandbox"]).toMatchObject({ state, finding: expect.stringMatching(finding) });
    });
  });

  test("stops at an API server that does not answer", async () => {
    const checks = await diagnose({ answers: { "get /version": new Error("connect ECONNREFUSED") } });
    expect(Object.keys(checks)).toEqual(["api server"]);
    expect(checks["api server"]).toMatchObject({ state: "missing", finding: "connect ECONNREFUSED", fix: "the hint" });
  });

  test("names the runtime class that the cluster lacks", async () => {
    const checks = await diagnose({}, { runtimeClass: "gvisor" });
    expect(checks["runtime class"]).toMatchObject({
      state: "missing",
      finding: "the cluster has no RuntimeClass gvisor",
    });
  });
});

describe("the room of a quota", () => {
  const withQuota = async (hard: object, used: object) => {
    const items = [{ metadata: { name: "codecell" }, status: { hard, used } }];
    return (await diagnose({ answers: { "list /api/v1/namespaces/cells/resourcequotas": { items } } })).quota;
  };

  test("is what its tightest entry leaves for cells of this policy", async () => {
    const hard = { pods: "64", "limits.memory": "8Gi", "requests.cpu": "2", services: "0" };
    const quota = await withQuota(hard, { pods: "2", "limits.memory": "2560Mi", "requests.cpu": "500m" });
    expect(quota).toMatchObject({ state: "ok", facts: { more_cells: 5, limited_by: "limits.memory" } });
  });

  test("is missing if not one cell fits", async () => {
    const quota = await withQuota({ pods: 3 }, { pods: 3 });
    expect(quota).toMatchObject({ state: "missing", fix: expect.stringContaining("raise pods") });
  });

  test.each([
    ["500m", 0.5],
    ["1.5Gi", 1.5 * 2 ** 30],
    ["1e3", 1000],
    ["128974848", 128_974_848],
    [2, 2],
    ["many", Number.NaN],
  ])("reads the quantity %s", (text, value) => {
    expect(quantity(text)).toBe(value);
  });
});

describe("gateways", () => {
  const labels = (gateway: string) => ({ "codecell/gateway": gateway });
  const lease = (id: string, renewTime: string) => ({
    metadata: { name: `codecell-gateway-${id}`, labels: labels(id) },
    spec: { renewTime, leaseDurationSeconds: 30 },
  });
  const answers = {
    "list /apis/coordination.k8s.io/v1/namespaces/cells/leases": {
      items: [lease("a", "2026-01-01T11:59:45.000000Z"), lease("b", "2026-01-01T11:59:15.000000Z")],
    },
    "list /api/v1/namespaces/cells/pods": {
      items: ["a", "b", "c"].map((id) => ({ metadata: { name: `codecell-${id}-1`, labels: labels(id) }, status: {} })),
    },
  };

  test("are alive as long as their leases, and pods of others are left behind", async () => {
    const checks = await diagnose({ answers });
    expect(checks.gateways).toMatchObject({ facts: { alive: ["a"], expired: 1, pods: 1 } });
    expect(checks["left behind"]).toMatchObject({
      state: "warning",
      finding: "2 pods without a living gateway: codecell-b-1, codecell-c-1",
    });
  });
});

describe("a cell that is tried", () => {
  const trial: CellTrial = {
    ran: true,
    examinedMs: 40_000,
    firstResultMs: 1140,
    isolation: "namespaces of a pod",
    network: "a network namespace",
  };

  test("shows what its receipt says", async () => {
    const { cells, network, isolation } = await diagnose({}, { tryCell: async () => trial });
    expect(cells).toMatchObject({ state: "ok", finding: expect.stringContaining("first result after 1.1 s") });
    expect([isolation?.finding, network?.finding]).toEqual(["namespaces of a pod", "a network namespace"]);
  });

  test("and fails makes the cluster unusable", async () => {
    const { cells } = await diagnose(
      {},
      { tryCell: async () => ({ ran: false, reason: "no image", hint: "set one" }) },
    );
    expect(cells).toEqual({ name: "cells", state: "missing", finding: "no image", fix: "set one" });
  });

  test("is not started if something is missing already", async () => {
    let trials = 0;
    const tryCell = async () => {
      trials++;
      return trial;
    };
    const { cells } = await diagnose({ refusedRights: [...dangerous, "create pods"] }, { tryCell });
    expect([cells?.state, trials]).toEqual(["unknown", 0]);
  });
});
