import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import { type Logger, silentLogger } from "../../../lib/log/logger.ts";
import type { HardenedPod } from "../pod/hardened-pod.ts";
import { changedPodHint, podDifference } from "../pod/pod-difference.ts";
import type { ClaimUse } from "../settings.ts";
import { type CellTrial, type ClusterCheck, type ClusterQuestions, refusedStatus } from "./cluster-check.ts";
import { gatewayChecks } from "./gateways-check.ts";
import { quotaCheck } from "./quota-check.ts";
import { otherRightsCheck, rightsCheck } from "./rights-check.ts";
import { agentSandboxCheck } from "./sandbox-check.ts";

export interface ClusterSubject {
  readonly api: ClusterQuestions;
  /** the pod of a cell under the policy in question */
  readonly pod: HardenedPod;
  readonly runtimeClass: string | undefined;
  readonly claims: ClaimUse;
  /** starts a cell and runs code in it; undefined: nobody asked for it */
  readonly tryCell?: (() => Promise<CellTrial>) | undefined;
  readonly now?: () => number;
  readonly logger?: Logger;
}

/** What a cluster can hold, and what is missing. Nothing is started or changed without `tryCell`. */
export async function diagnoseCluster(subject: ClusterSubject): Promise<ClusterCheck[]> {
  const { api, pod, runtimeClass, claims, tryCell, now = Date.now, logger = silentLogger } = subject;
  logger.info("asking the API server …");
  const server = await serverCheck(api);
  if (server.state !== "ok") return [server];
  const resources = pod.spec.containers[0]?.resources ?? { limits: {}, requests: {} };
  const [rights, others, admitted, runtime, quota, gateways, sandbox] = await Promise.all([
    rightsCheck(api, runtimeClass !== undefined).catch((error: unknown) => failed(api, "rights", error)),
    otherRightsCheck(api).catch((error: unknown) => failed(api, "other rights", error)),
    podCheck(api, pod),
    runtimeClass === undefined ? [] : runtimeClassCheck(api, runtimeClass),
    quotaCheck(api, resources).catch((error: unknown) => failed(api, "quota", error)),
    gatewayChecks(api, now()).catch((error: unknown) => failed(api, "gateways", error)),
    agentSandboxCheck(api, claims).catch((error: unknown) => failed(api, "agent-sandbox", error)),
  ]);
  const found = [server, rights, others, admitted, runtime, quota, gateways, sandbox].flat();
  return [...found, ...(await cellsChecks(found, tryCell, logger))];
}

const version = z.object({ gitVersion: z.string() });

async function serverCheck(api: ClusterQuestions): Promise<ClusterCheck> {
  const question = { verb: "get", resource: "version", path: "/version" } as const;
  try {
    const { gitVersion } = version.parse(await api.json(question));
    return { name: "api server", state: "ok", finding: `Kubernetes ${gitVersion}`, facts: { version: gitVersion } };
  } catch (error) {
    return { ...failed(api, "api server", error), state: "missing" };
  }
}

/** A dry run passes every admission rule: pod security, quota, limits, runtime class, webhooks. Nothing is started. */
async function podCheck(api: ClusterQuestions, pod: HardenedPod): Promise<ClusterCheck> {
  const path = `/api/v1/namespaces/${api.namespace}/pods`;
  const question = { verb: "create", resource: "pods", path, query: { dryRun: "All" }, body: pod } as const;
  try {
    const differs = podDifference(pod, await api.json(question));
    if (differs !== undefined) {
      const finding = `admission rules of the namespace ${api.namespace} change the pod of a cell: ${differs}`;
      return { name: "pods", state: "missing", finding, fix: changedPodHint };
    }
    return { name: "pods", state: "ok", finding: `the namespace ${api.namespace} admits the pod of a cell` };
  } catch (error) {
    const { message, hint } = api.explain(error, question);
    // A plug-in of the API server may refuse for a reason that nobody foresaw: its own words say most.
    const said = messageOf(error);
    const finding = message.includes(said) ? message : `${message}: ${said}`;
    return { name: "pods", state: "missing", finding, ...(hint === undefined ? {} : { fix: hint }) };
  }
}

async function runtimeClassCheck(api: ClusterQuestions, name: string): Promise<ClusterCheck> {
  const path = `/apis/node.k8s.io/v1/runtimeclasses/${name}`;
  try {
    const { handler } = await api.json<{ handler?: unknown }>({ verb: "get", resource: "runtimeclasses", path });
    const finding = `${name} uses the handler ${handler}; what it is worth is proved in a pod`;
    return { name: "runtime class", state: "ok", finding, facts: { class: name, handler } };
  } catch (error) {
    if (refusedStatus(error) !== 404) return failed(api, "runtime class", error);
    const fix = `install it, or set CODECELL_KUBERNETES_RUNTIME_CLASS to one of \`kubectl get runtimeclasses\``;
    return { name: "runtime class", state: "missing", finding: `the cluster has no RuntimeClass ${name}`, fix };
  }
}

/** A cell that ran code shows that the image has Python, that the rights suffice, and that nothing in it reaches the network. */
async function cellsChecks(
  found: readonly ClusterCheck[],
  tryCell: ClusterSubject["tryCell"],
  logger: Logger,
): Promise<ClusterCheck[]> {
  if (tryCell === undefined) {
    const finding = "image, network and runtime class were not tried";
    return [{ name: "cells", state: "unknown", finding, fix: "add --probe, which starts pods and removes them" }];
  }
  if (found.some(({ state }) => state === "missing")) {
    return [{ name: "cells", state: "unknown", finding: "not tried, because something is missing" }];
  }
  logger.info("starting a cell …");
  const trial = await tryCell();
  if (!trial.ran) {
    const { reason, hint } = trial;
    return [{ name: "cells", state: "missing", finding: reason, ...(hint === undefined ? {} : { fix: hint }) }];
  }
  const { examinedMs, firstResultMs } = trial;
  const seconds = (ms: number) => (ms / 1000).toFixed(1);
  const finding = `one gave its first result after ${seconds(firstResultMs)} s; image and network took ${seconds(examinedMs)} s before`;
  return [
    {
      ...{ name: "cells", state: "ok", finding },
      facts: { examined_ms: examinedMs, first_result_ms: firstResultMs },
    },
    { name: "isolation", state: "ok", finding: trial.isolation },
    { name: "network", state: "ok", finding: trial.network },
  ];
}

function failed(api: ClusterQuestions, name: ClusterCheck["name"], error: unknown): ClusterCheck {
  // Which right is missing is the answer of the check of the rights.
  if (refusedStatus(error) === 403) return { name, state: "unknown", finding: "these credentials may not look" };
  const { message, hint } = api.explain(error, { verb: "get", resource: name });
  return { name, state: "unknown", finding: message, ...(hint === undefined ? {} : { fix: hint }) };
}
