import type { V1Pod } from "@kubernetes/client-node";
import { type ApiObject, fieldAt, isRecord } from "./api/api-object.ts";
import { withDefaults } from "./api/defaults.ts";
import { deleteObject } from "./api/deletion.ts";
import type { Change, ObjectStore } from "./api/object-store.ts";
import {
  pods,
  type Resource,
  sandboxClaims,
  sandboxes,
  sandboxTemplates,
  sandboxWarmPools,
} from "./api/resource-table.ts";

const group = "agents.x-k8s.io";
const systemLabel = /^(?:extensions\.)?agents\.x-k8s\.io\//;

/**
 * A fake of agent-sandbox's controllers, and of the garbage collector for what they own. It really makes pods: a pool's sandboxes
 * have one each, with the sandbox's name and the template's labels. A claim gets a ready sandbox of its pool, or a new one with
 * the claim's name if no pod of the pool has an address. A pod that is deleted comes back as long as its sandbox exists. With a claim or a pool go its
 * sandboxes, and with these their pods.
 *
 * What it does not imitate: network policies, services, volumes, variables, suspension, expiry, update strategies and events.
 */
export class FakeAgentSandbox implements Disposable {
  /** changes a pod before it is created, as a hostile controller or an admission rule would */
  tamper: ((pod: V1Pod) => void) | undefined;
  /** why the API server refuses the controller's pods, as a quota would */
  refusal: string | undefined;
  /** the controllers do not run */
  isStopped = false;
  readonly #store: ObjectStore;
  readonly #unsubscribe: () => void;
  #isDue = false;

  constructor(store: ObjectStore) {
    this.#store = store;
    this.#unsubscribe = store.subscribe((change) => this.#follow(change));
  }

  [Symbol.dispose](): void {
    this.#unsubscribe();
  }

  #follow({ resource }: Change): void {
    const isWatched = resource === pods || resource === sandboxes || resource.group.endsWith(group);
    if (!isWatched || this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      if (!this.isStopped) this.#reconcile();
    });
  }

  #reconcile(): void {
    this.#collect();
    for (const claim of this.#all(sandboxClaims)) this.#serve(claim);
    for (const pool of this.#all(sandboxWarmPools)) this.#fill(pool);
    for (const sandbox of this.#all(sandboxes)) this.#ensurePod(sandbox);
  }

  /** What has no owner any more is deleted. */
  #collect(): void {
    const owners = new Set([...this.#all(sandboxClaims), ...this.#all(sandboxWarmPools)].map(uidOf));
    for (const sandbox of this.#all(sandboxes)) if (!owners.has(ownerOf(sandbox))) this.#remove(sandboxes, sandbox);
    const living = new Set(this.#all(sandboxes).map(uidOf));
    for (const pod of this.#all(pods)) {
      const owner = ownerOf(pod);
      if (owner === "" || living.has(owner) || pod.metadata.deletionTimestamp !== undefined) continue;
      this.#remove(pods, pod);
    }
  }

  #serve(claim: ApiObject): void {
    const own = this.#all(sandboxes).find((one) => ownerOf(one) === uidOf(claim));
    const sandbox = own ?? this.#adopt(claim) ?? this.#create(claim, claim.metadata.name);
    const pool = this.#poolOf(claim);
    const missing = pool === undefined ? "WarmPoolNotFound" : "TemplateNotFound";
    const isReady = sandbox !== undefined && this.#isReady(sandbox);
    const waiting = this.refusal === undefined ? "DependenciesNotReady" : "ReconcilerError";
    const reason = sandbox === undefined ? missing : isReady ? "DependenciesReady" : waiting;
    const message = reason === "ReconcilerError" ? `Error seen: ${this.refusal}` : "";
    this.#store.update(sandboxClaims, claim.metadata.namespace ?? "", claim.metadata.name, (one) => {
      one.status = {
        conditions: [{ type: "Ready", status: isReady ? "True" : "False", reason, message }],
        ...(sandbox === undefined ? {} : { sandbox: { name: sandbox.metadata.name } }),
      };
    });
  }

  /** The sandbox changes its owner and stays what it is. One whose pod has ended is given too if no other is ready. */
  #adopt(claim: ApiObject): ApiObject | undefined {
    const pool = this.#poolOf(claim);
    if (pool === undefined) return undefined;
    const candidates = this.#all(sandboxes).filter((one) => ownerOf(one) === uidOf(pool) && this.#hasAddress(one));
    const chosen = candidates.find((one) => this.#isReady(one)) ?? candidates[0];
    if (chosen === undefined) return undefined;
    return this.#store.update(sandboxes, chosen.metadata.namespace ?? "", chosen.metadata.name, (one) => {
      one.metadata.ownerReferences = [reference(claim)];
    });
  }

  #fill(pool: ApiObject): void {
    const count = Number(fieldAt(pool, "spec.replicas"));
    const own = this.#all(sandboxes).filter((one) => ownerOf(one) === uidOf(pool));
    for (let at = own.length; at < count; at++) this.#create(pool);
  }

  #create(owner: ApiObject, name?: string): ApiObject | undefined {
    const pool = owner.kind === "SandboxWarmPool" ? owner : this.#poolOf(owner);
    const { namespace = "" } = owner.metadata;
    const template = pool && String(fieldAt(pool, "spec.sandboxTemplateRef.name"));
    const found = template === undefined ? undefined : this.#store.find(sandboxTemplates, namespace, template);
    if (found === undefined) return undefined;
    const metadata = {
      ...(name === undefined ? { generateName: `${pool?.metadata.name}-` } : { name }),
      ownerReferences: [reference(owner)],
    };
    const spec = { podTemplate: fieldAt(found, "spec.podTemplate") };
    return this.#store.create(sandboxes, namespace, { metadata, spec } as unknown as ApiObject);
  }

  #ensurePod(sandbox: ApiObject): void {
    const { namespace = "", name } = sandbox.metadata;
    if (this.#store.find(pods, namespace, name) !== undefined || this.refusal !== undefined) return;
    const template = structuredClone(fieldAt(sandbox, "spec.podTemplate"));
    if (!isRecord(template)) return;
    const labels = Object.entries((fieldAt(template, "metadata.labels") ?? {}) as Record<string, string>);
    const pod = {
      metadata: {
        name,
        labels: {
          ...Object.fromEntries(labels.filter(([key]) => !systemLabel.test(key))),
          [`${group}/sandbox-name-hash`]: name.slice(-8),
        },
        annotations: {
          ...(fieldAt(template, "metadata.annotations") as object | undefined),
          [`${group}/propagated-labels`]: labels.map(([key]) => key).join(","),
        },
        ownerReferences: [reference(sandbox)],
      },
      spec: template.spec,
    };
    this.tamper?.(pod as unknown as V1Pod);
    this.#store.create(pods, namespace, withDefaults(pods, pod as unknown as ApiObject));
  }

  /** Of a pod that is being deleted too. */
  #isReady(sandbox: ApiObject): boolean {
    return fieldAt(this.#podOf(sandbox), "status.phase") === "Running";
  }

  #hasAddress(sandbox: ApiObject): boolean {
    return fieldAt(this.#podOf(sandbox), "status.podIP") !== undefined;
  }

  #podOf({ metadata }: ApiObject): ApiObject | undefined {
    return this.#store.find(pods, metadata.namespace ?? "", metadata.name);
  }

  #poolOf(claim: ApiObject): ApiObject | undefined {
    const name = String(fieldAt(claim, "spec.warmPoolRef.name"));
    return this.#store.find(sandboxWarmPools, claim.metadata.namespace ?? "", name);
  }

  #all(resource: Resource): readonly ApiObject[] {
    return this.#store.list(resource, undefined);
  }

  #remove(resource: Resource, { metadata: { namespace = "", name } }: ApiObject): void {
    deleteObject(this.#store, resource, { namespace, name }, {});
  }
}

const uidOf = ({ metadata }: ApiObject): string => metadata.uid;

function ownerOf({ metadata }: ApiObject): string {
  const [owner] = (metadata.ownerReferences ?? []) as { uid: string }[];
  return owner?.uid ?? "";
}

function reference({ apiVersion, kind, metadata: { name, uid } }: ApiObject) {
  return { apiVersion, kind, name, uid, controller: true };
}
