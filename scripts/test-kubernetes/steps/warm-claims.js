import * as kubernetes from "@kubernetes/client-node";
import { median } from "../../../bench/harness.js";
import { Codecell, parsePolicy } from "../../../dist/index.js";
import { kubernetesRunner } from "../../../dist/runners/kubernetes/runner.js";
import { claimRules } from "../../../dist/runners/kubernetes/verbs.js";
import { waitUntil } from "../cluster/wait-until.js";
import { cellsNamespace } from "./context.js";
import { expect } from "./expect.js";
import { cellPods } from "./pods.js";
import { withEnvironment } from "./with-environment.js";

const group = "extensions.agents.x-k8s.io";
const version = "v1beta1";
const policy = parsePolicy({ proc: { memory: "256MiB" }, session: { pool: 3, limit: 20 } });
const rounds = 5;
const crowd = 8;

/** @type {import("./steps.js").Step} */
export const warmClaims = {
  name: "warm-claims",
  asks: "does agent-sandbox keep warm pods, do they become cells, and does nothing of them stay?",
  async missing({ config }) {
    const { groups } = await config.makeApiClient(kubernetes.ApisApi).getAPIVersions();
    return groups.some(({ name }) => name === group) ? undefined : "agent-sandbox is not installed in this cluster";
  },
  async run(context) {
    await allowClaims(context);
    const env = { ...context.env, CODECELL_KUBERNETES_CLAIMS: "on" };
    return await withEnvironment(env, async () => {
      const stateDir = `${context.directory}/warm-claims`;
      const codecell = await Codecell.open({ policy, runners: [kubernetesRunner()], stateDir });
      try {
        const times = await oneAfterAnother(context, codecell);
        await allAtOnce(context, codecell);
        await endedWhileWaiting(context, codecell);
        return {
          detail: `first reply ${median(times).toFixed(0)} ms from a claimed pod; ${crowd} sessions at once had a pod each; a pod that had ended was replaced; nothing stayed`,
          figures: { claimedReplyMs: median(times) },
        };
      } finally {
        await codecell[Symbol.asyncDispose]();
        await nothingLeft(context);
      }
    });
  },
};

/** The first session takes the cell that is connected already, so the second one needs a claim. */
async function oneAfterAnother(context, codecell) {
  const times = [];
  for (let round = 0; round < rounds; round++) {
    await waitingPods(context);
    const first = await codecell.session();
    const began = performance.now();
    const second = await codecell.session();
    const answer = await second.run("6 * 7");
    times.push(performance.now() - began);
    const results = [answer, await first.run("6 * 7")];
    for (const { value, receipt } of results) {
      expect(value === "42", "the reply is right", value);
      expect(receipt.notes.join().includes("agent-sandbox"), "the receipt says who made the pod", receipt.notes);
    }
    for (const { id } of [first, second]) await codecell.closeSession(id);
  }
  return times;
}

async function allAtOnce(context, codecell) {
  const opened = await Promise.all(Array.from({ length: crowd }, () => codecell.session()));
  const told = "' '.join([open('/etc/hostname').read().strip(), open('/proc/self/uid_map').read().split()[1]])";
  const answers = await Promise.all(opened.map((session) => session.run(told)));
  const nodes = new Map((await cellPods(context)).map(({ metadata, spec }) => [metadata.name, spec.nodeName]));
  const maps = answers.map(({ value }) => {
    const [pod, first] = String(value).replaceAll("'", "").split(" ");
    return `${nodes.get(pod)} ${first}`; // two nodes may use the same range
  });
  expect(new Set(maps).size === crowd, `${crowd} sessions have ${crowd} ranges of user ids`, maps);
  await Promise.all(opened.map(({ id }) => codecell.closeSession(id)));
  await waitUntil(
    "the claims of closed sessions are gone",
    async () => (await listed(context, "sandboxclaims")).length <= 1,
  );
}

/** agent-sandbox's controller also gives pods to claims that have ended while they waited. */
async function endedWhileWaiting(context, codecell) {
  const { core } = context;
  for (const { metadata } of await waitingPods(context)) {
    const body = [{ op: "add", path: "/spec/activeDeadlineSeconds", value: 1 }];
    await core.patchNamespacedPod({ name: metadata.name, namespace: cellsNamespace, body });
  }
  await waitUntil("the waiting pods have ended", async () => {
    const pods = await cellPods(context);
    return pods.filter(({ status }) => status.phase === "Failed").length >= 2;
  });
  const opened = [];
  for (let at = 0; at < 3; at++) opened.push(await codecell.session());
  for (const session of opened) {
    const { value } = await session.run("6 * 7");
    expect(value === "42", "the reply is right", value);
  }
  for (const { id } of opened) await codecell.closeSession(id);
}

/** Waits until the pool is full: its pods run, and no claim has them. */
async function waitingPods(context) {
  const wanted = policy.session.pool - 1;
  return await waitUntil("the pool is full", async () => {
    const claimed = new Set((await listed(context, "sandboxclaims")).map(({ status }) => status?.sandbox?.name));
    const pods = await cellPods(context);
    const waiting = pods.filter(
      ({ metadata, status }) =>
        status.phase === "Running" && !metadata.deletionTimestamp && !claimed.has(metadata.name),
    );
    return waiting.length === wanted && claimed.size === 1 && waiting;
  });
}

async function nothingLeft(context) {
  await waitUntil("nothing of agent-sandbox is left", async () => {
    const kinds = ["sandboxclaims", "sandboxwarmpools", "sandboxtemplates"];
    const objects = await Promise.all(kinds.map((plural) => listed(context, plural)));
    return objects.flat().length === 0 && (await cellPods(context)).length === 0;
  });
}

async function listed({ config }, plural) {
  const custom = config.makeApiClient(kubernetes.CustomObjectsApi);
  const { items } = await custom.listNamespacedCustomObject({ group, version, namespace: cellsNamespace, plural });
  return items;
}

/** What `agentSandbox.enabled` of the chart adds to the gateways' rights. */
async function allowClaims({ config }) {
  const rights = config.makeApiClient(kubernetes.RbacAuthorizationV1Api);
  const name = "codecell-agent-sandbox";
  const namespace = cellsNamespace;
  const rules = claimRules.map(({ apiGroup, resource, verbs }) => ({
    apiGroups: [apiGroup],
    resources: [resource],
    verbs,
  }));
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name };
  const subjects = [{ kind: "ServiceAccount", name: "codecell", namespace: "codecell" }];
  await existing(rights.createNamespacedRole({ namespace, body: { metadata: { name }, rules } }));
  await existing(rights.createNamespacedRoleBinding({ namespace, body: { metadata: { name }, roleRef, subjects } }));
}

async function existing(creating) {
  await creating.catch((error) => {
    if (error.code !== 409) throw error;
  });
}
