import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { deadline } from "../../../lib/waiting/deadline.ts";
import { ApiRefusal, type ApiVerb } from "../client/api-refusal.ts";
import type { ClusterApi } from "../client/cluster-api.ts";
import type { PodWatch } from "../client/pod-watch.ts";
import type { GatewayPods } from "../gateway/gateway-pods.ts";
import { labelsOf } from "../labels.ts";
import { StartedPod } from "../pod/started-pod.ts";
import type { WatchedPod } from "../pod/watched-pod.ts";
import { claimSchema, type SandboxClaim, sandboxClaim } from "./agent-sandbox.ts";
import { deleteSandboxObject, type SandboxResource } from "./sandbox-objects.ts";

/** A controller that runs says something about a claim within this time. */
const answerMs = 10_000;
const watchSeconds = 60;
const gone = 410;

const eventSchema = z.object({ type: z.string(), object: z.unknown() });
const statusSchema = z.object({ code: z.number(), message: z.string().catch("") });
const listSchema = z.object({ metadata: z.object({ resourceVersion: z.string() }), items: z.array(claimSchema) });

/** Nobody gave the claim a pod. Where claims are not required, a pod of codecell's own can be used instead. */
export class UnservedClaim extends CodecellError {}

export interface ClaimOrder {
  readonly pool: string;
  /** the cell that it is for */
  readonly cell: string;
  readonly longestSeconds: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Takes a pod out of a warm pool. The claim is deleted with the pod, or at once if there is none in time. Until the pod is known to
 * be the caller's own, only the claim is deleted.
 */
export async function claimPod(pods: GatewayPods, order: ClaimOrder): Promise<StartedPod> {
  const { api, gateway, logger, settings } = pods;
  const { pool, cell, longestSeconds, signal } = order;
  const name = pods.newName();
  const endMs = Date.now() + longestSeconds * 1000;
  const body = sandboxClaim(name, labelsOf("claim", gateway), { pool, cell, endMs });
  let uid: string | undefined;
  const release = async () => {
    await deleteSandboxObject(api, "sandboxclaims", name, uid).catch((error: unknown) => {
      logger.warn("a claim could not be deleted", { claim: name, error }); // it ends by itself, or with this gateway's lease
    });
  };
  using limit = deadline(settings.startMs, signal);
  try {
    const claim = await created(api, body, limit.signal);
    uid = claim.metadata.uid;
    const sandbox = await assignedSandbox(api, claim, limit.signal, settings.startMs);
    const pod = await appeared(pods.watch, sandbox, limit.signal, settings.startMs).catch(async (error: unknown) => {
      throw signal?.aborted ? error : await whyAbsent(api, claim, error, signal);
    });
    const adopted = StartedPod.adopt({ ...pods.keeping(signal), release }, pod);
    if (adopted === undefined) throw heldAlready(name, sandbox);
    return adopted;
  } catch (error) {
    await release();
    if (signal?.aborted) throw new CodecellError("aborted", "the start was aborted", { cause: error });
    throw error;
  }
}

async function created(api: ClusterApi, body: object, signal: AbortSignal): Promise<SandboxClaim> {
  const request = { verb: "create", resource: "sandboxclaims", path: api.path("sandboxclaims"), body } as const;
  try {
    return claimSchema.parse(await api.json({ ...request, signal }));
  } catch (error) {
    throw unservedFor(error, "sandboxclaims", api, "create");
  }
}

/** The error for a claim that failed with this one. */
export function unservedFor(
  error: unknown,
  resource: SandboxResource,
  api: Pick<ClusterApi, "explain">,
  verb: ApiVerb["verb"] = "create",
): UnservedClaim {
  if (error instanceof UnservedClaim) return error;
  const { message, hint } = api.explain(error, { verb, resource });
  return new UnservedClaim("cell_start_failed", message, { cause: error, ...(hint === undefined ? {} : { hint }) });
}

/** Follows the claim until its status names a sandbox. */
async function assignedSandbox(
  api: ClusterApi,
  claim: SandboxClaim,
  limit: AbortSignal,
  startMs: number,
): Promise<string> {
  let last = claim;
  const firstMs = Math.min(answerMs, startMs / 4);
  using first = deadline(firstMs, limit);
  try {
    for await (const now of states(api, claim, () => (isAnswered(last) ? limit : first.signal))) {
      last = now;
      if (now.status.sandbox?.name) return now.status.sandbox.name;
    }
  } catch (error) {
    if (!limit.aborted && !first.signal.aborted) throw unservedFor(error, "sandboxclaims", api, "watch");
  }
  throw unserved(last, isAnswered(last) ? startMs : firstMs);
}

/** Right after a pool was made, the controller may not know it yet. Later, another gateway may have deleted it. */
const poolMissing: ReadonlySet<string> = new Set(["WarmPoolNotFound", "TemplateNotFound"]);

function isAnswered({ status }: SandboxClaim): boolean {
  return (status.conditions ?? []).some(({ reason }) => !poolMissing.has(reason));
}

/** Each state of the claim from now on. A watch that breaks or is forgotten begins again with a list. */
async function* states(
  api: ClusterApi,
  { metadata }: SandboxClaim,
  signalNow: () => AbortSignal,
): AsyncGenerator<SandboxClaim> {
  const request = { resource: "sandboxclaims", path: api.path("sandboxclaims") } as const;
  const selected = { fieldSelector: `metadata.name=${metadata.name}` };
  for (let version: string | undefined = metadata.resourceVersion; !signalNow().aborted; ) {
    const signal = signalNow();
    if (version === undefined) {
      const list = listSchema.parse(await api.json({ ...request, verb: "list", query: selected, signal }));
      version = list.metadata.resourceVersion;
      const [now] = list.items;
      if (now === undefined) throw deleted(metadata.name);
      yield now;
    }
    const query = { ...selected, watch: true, resourceVersion: version, timeoutSeconds: watchSeconds };
    version = undefined;
    try {
      for await (const line of api.lines({ ...request, verb: "watch", query, signal }, watchSeconds * 1000)) {
        const { type, object } = eventSchema.parse(line);
        if (type === "ERROR") {
          const { code, message } = statusSchema.parse(object);
          throw new ApiRefusal(code, "", message);
        }
        if (type === "DELETED") throw deleted(metadata.name);
        yield claimSchema.parse(object);
        if (signalNow() !== signal) break; // an answered claim has more time
      }
    } catch (error) {
      const isFinal = error instanceof CodecellError || (error instanceof ApiRefusal && error.status !== gone);
      if (isFinal || signal.aborted) throw error;
    }
  }
}

function heldAlready(claim: string, pod: string): CodecellError {
  const message = `agent-sandbox gave the claim ${claim} the pod ${pod}, which belongs to another session`;
  const hint =
    "try again, and check agent-sandbox's controller; CODECELL_KUBERNETES_CLAIMS=off keeps warm pods without it";
  return new CodecellError("cell_start_failed", message, { hint });
}

function deleted(name: string): CodecellError {
  return new UnservedClaim("cell_start_failed", `the claim ${name} was deleted, but not by codecell`);
}

function unserved({ metadata, status }: SandboxClaim, waitedMs: number): CodecellError {
  const seconds = `${Math.ceil(waitedMs / 1000)} s`;
  const [condition] = status.conditions ?? [];
  if (condition === undefined) {
    const hint =
      "check that agent-sandbox's controller runs; CODECELL_KUBERNETES_CLAIMS=off keeps warm pods without it";
    const message = `agent-sandbox's controller did not answer the claim ${metadata.name} within ${seconds}`;
    return new UnservedClaim("cell_start_failed", message, { hint });
  }
  const { reason, message: said } = condition;
  const message = `agent-sandbox gave the claim ${metadata.name} no pod within ${seconds}: ${reason}: ${said.slice(0, 300)}`;
  return new UnservedClaim("cell_start_failed", message, { hint: "see `kubectl describe sandboxclaims`" });
}

/** The claim may know why its pod was not created: a quota, an admission rule. */
async function whyAbsent(
  api: ClusterApi,
  { metadata }: SandboxClaim,
  error: unknown,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  if (!(error instanceof UnservedClaim)) return error;
  const request = { verb: "list", resource: "sandboxclaims", path: api.path("sandboxclaims") } as const;
  const query = { fieldSelector: `metadata.name=${metadata.name}` };
  try {
    const [now] = listSchema.parse(await api.json({ ...request, query, signal })).items;
    const said = now?.status.conditions?.find(
      (one) => one.type === "Ready" && one.status === "False" && one.message !== "",
    );
    if (said === undefined) return error;
    const message = `${error.message}: ${said.reason}: ${said.message.slice(0, 300)}`;
    return new UnservedClaim("cell_start_failed", message, { cause: error, hint: "see `kubectl describe sandboxes`" });
  } catch {
    return error;
  }
}

/** Waits until the gateway's watch has seen the pod, which carries its label. */
async function appeared(watch: PodWatch, name: string, limit: AbortSignal, startMs: number): Promise<WatchedPod> {
  return await new Promise((resolve, reject) => {
    const holder: { listening?: Disposable } = {};
    const settle = (act: () => void) => {
      holder.listening?.[Symbol.dispose]();
      limit.removeEventListener("abort", late);
      act();
    };
    const late = () => {
      const message = `the pod ${name} that agent-sandbox named did not appear within ${Math.ceil(startMs / 1000)} s`;
      const hint = "see `kubectl describe sandboxes`: the controller could not create the pod, or changed its labels";
      settle(() => reject(new UnservedClaim("cell_start_failed", message, { hint })));
    };
    limit.addEventListener("abort", late, { once: true });
    holder.listening = watch.listen(name, (pod) => {
      if (pod) setImmediate(() => settle(() => resolve(pod))); // it may be called before `listen` returns
    });
    if (limit.aborted) late();
  });
}
