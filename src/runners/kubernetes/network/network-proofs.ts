import { Cleanup } from "../../../lib/cleanup.ts";
import { CodecellError, messageOf } from "../../../lib/errors.ts";
import type { Logger } from "../../../lib/log/logger.ts";
import { PromiseCache } from "../../../lib/waiting/promise-cache.ts";
import type { GatewayPods } from "../gateway/gateway-pods.ts";
import { closedLabel, labelsOf } from "../labels.ts";
import type { NetworkFinding } from "../plan.ts";
import { createPolicy, listPolicies, type PolicyState, policyName, policyState } from "./network-policy.ts";
import { apiServer, ProbePod, type Target } from "./probe-pod.ts";
import { SharedProof } from "./shared-proof.ts";

/** A proof holds this long: networks of clusters change rarely, and a proof takes seconds. */
const proofMs = 3_600_000;
/** A network that was repaired is noticed after this time. */
const refusalMs = 60_000;
const rounds = 3;
const kubeletPort = 10_250;

const otherWay =
  "use a cluster whose network enforces NetworkPolicies, or set CODECELL_KUBERNETES_NETWORK=namespace where the namespace admits pods without the runtime's system call filter";

type ProbeAnswer = { readonly atMs: number } & (
  | { readonly isEnforced: true }
  | { readonly isEnforced: false; readonly reason: string }
);
type Proof = ProbeAnswer & { readonly policy: string };

/**
 * Whether this cluster enforces NetworkPolicies, as probe pods have shown it. Many networks accept policies and ignore them, so
 * a policy alone proves nothing. A control comes first: what nothing reaches without a policy proves nothing either.
 */
export class NetworkProofs {
  readonly #pods: () => Promise<GatewayPods>;
  readonly #logger: Logger;
  readonly #proofs = new PromiseCache<Proof>();
  /** whether what others have proved counts; not after this process has seen the opposite */
  #believesOthers: boolean;

  constructor(pods: () => Promise<GatewayPods>, logger: Logger, { mustProve = false } = {}) {
    this.#pods = pods;
    this.#logger = logger;
    this.#believesOthers = !mustProve;
  }

  /** Looks at the policies each time, because anybody who may can add one that opens what ours closes. */
  async find(image: string): Promise<NetworkFinding> {
    const pods = await this.#pods();
    const lookedAtMs = performance.now();
    const { isClosed, openedBy, identity } = await closingState(pods);
    if (openedBy.length > 0) {
      return {
        by: "nothing",
        reason: `these NetworkPolicies open the network of cells: ${openedBy.join(", ")}`,
        hint: `exclude pods with the label codecell/network=none from them`,
      };
    }
    if (!isClosed || identity === undefined) {
      return {
        by: "nothing",
        reason: `the NetworkPolicy ${policyName} is not as codecell makes it`,
        hint: "delete it",
      };
    }
    const proof = await this.#proof(pods, image, identity);
    if (!proof.isEnforced) return { by: "nothing", reason: proof.reason, hint: otherWay };
    if (proof.atMs > lookedAtMs) return await this.find(image); // policies may have changed meanwhile
    return { by: "policy", provedMs: performance.now() - proof.atMs };
  }

  /**
   * A proof is about one NetworkPolicy. The attack: networks enforce a policy seconds after it was created, so one that somebody
   * deleted and that was created again does not close a cell that starts now, whatever was proved before.
   */
  async #proof(pods: GatewayPods, image: string, policy: string): Promise<Proof> {
    const known = this.#proofs.get(pods.api.namespace, () => this.#findProof(pods, image, policy));
    const proof = await known;
    const isRecent = performance.now() - proof.atMs < (proof.isEnforced ? proofMs : refusalMs);
    if (isRecent && proof.policy === policy) return proof;
    this.#proofs.forget(pods.api.namespace, known);
    return await this.#proof(pods, image, policy);
  }

  /** What another gateway has proved, or this one proves now and tells the others. */
  async #findProof(pods: GatewayPods, image: string, policy: string): Promise<Proof> {
    const shared = new SharedProof(pods, policy);
    const ageMs = this.#believesOthers ? await shared.ageMs() : undefined;
    if (ageMs !== undefined && ageMs < proofMs) return { isEnforced: true, atMs: performance.now() - ageMs, policy };
    const proof = { ...(await this.#prove(pods, image)), policy };
    this.#believesOthers = proof.isEnforced;
    await (proof.isEnforced ? shared.share() : shared.withdrawAll());
    return proof;
  }

  async #prove(pods: GatewayPods, image: string): Promise<ProbeAnswer> {
    this.#logger.info("trying whether the cluster enforces NetworkPolicies", { namespace: pods.api.namespace });
    try {
      await using cleanup = new Cleanup();
      const start = async (isClosed: boolean, targets: readonly Target[] = []) => {
        const pod = await ProbePod.start(pods, image, isClosed, targets);
        cleanup.defer(() => pod[Symbol.asyncDispose]());
        return pod;
      };
      const [open, listener] = await both(start(false), start(false));
      const { reachable, unreached } = await control(open, listener);
      if (unreached.length > 0) {
        const what = unreached.join(", ");
        const reason = `the control failed: probe pods do not reach each other without a policy either, so nothing can be shown: ${what}`;
        return { isEnforced: false, reason, atMs: performance.now() };
      }
      const closed = await start(true, reachable);
      const reached = new Set([
        ...closed.early,
        ...(await closed.reached(reachable, rounds)),
        ...(await open.reached(
          [
            ...closed.targets("a cell", closed.addresses),
            ...closed.targets("a cell on its link", closed.linkAddresses),
          ],
          rounds,
        )),
      ]);
      if (reached.size === 0) return { isEnforced: true, atMs: performance.now() };
      return {
        isEnforced: false,
        atMs: performance.now(),
        reason: `a pod that the NetworkPolicy ${policyName} closes reached or was reached: ${[...reached].join(", ")}`,
      };
    } catch (error) {
      if (error instanceof CodecellError) throw error;
      throw new CodecellError(
        "runner_unavailable",
        `the network of the cluster could not be tried: ${messageOf(error)}`,
        {
          hint: "try again; `kubectl get events` shows what became of the probe pods",
          cause: error,
        },
      );
    }
  }
}

/** Fails when both have settled, so that nothing starts after the cleanup. */
async function both<Made>(one: Promise<Made>, other: Promise<Made>): Promise<[Made, Made]> {
  await Promise.allSettled([one, other]);
  return [await one, await other];
}

/** What a pod without a policy reaches: all addresses of another pod for sure, or the control has failed, and what else there is. */
async function control(open: ProbePod, listener: ProbePod): Promise<{ reachable: Target[]; unreached: string[] }> {
  const needed = listener.targets("another pod", listener.addresses);
  const nodes = [...new Set([...listener.nodeAddresses, ...open.nodeAddresses])];
  const others: Target[] = [
    ...listener.targets("another pod on its link", listener.linkAddresses),
    ...nodes.map((host) => ({ name: `the node ${host}`, kind: "tcp" as const, host, port: kubeletPort })),
    { name: "the API server", kind: "tcp", host: apiServer, port: 443 },
  ];
  const reached = new Set(await open.reached([...needed, ...others], 2));
  return {
    reachable: [...needed, ...others].filter(({ name }) => reached.has(name)),
    unreached: needed.map(({ name }) => name).filter((name) => !reached.has(name)),
  };
}

/** What the namespace's policies mean for cells. Creates the closing one if nobody did, or if somebody deleted it. */
async function closingState(pods: GatewayPods): Promise<PolicyState> {
  const look = async () => policyState(await listPolicies(pods.api), cellLabels(pods));
  const state = await look();
  if (state.identity !== undefined) return state;
  await createPolicy(pods.api);
  return await look();
}

function cellLabels({ gateway }: GatewayPods): Record<string, string> {
  return { ...labelsOf("cell", gateway), ...closedLabel };
}
