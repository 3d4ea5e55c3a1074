import { isDeepStrictEqual } from "node:util";
import { quantity } from "../diagnosis/quantity.ts";
import type { HardenedPod } from "./hardened-pod.ts";

type Fields = Readonly<Record<string, unknown>>;

const anything = () => true;

/** A level is a category in which SELinux encloses the pod, as OpenShift gives it to each namespace. Its other options can free the pod. */
const isLevelAlone = (value: unknown) => Object.keys(fieldsOf(value)).join() === "level";

/** What an API server, a scheduler and their usual plug-ins add to a pod. Nothing of it opens the pod. */
const additions: Readonly<Record<string, (value: unknown) => boolean>> = {
  ...{ "spec.nodeName": anything, "spec.schedulerName": anything, "spec.overhead": anything },
  ...{ "spec.priority": anything, "spec.priorityClassName": anything, "spec.preemptionPolicy": anything },
  // a name alone gives no rights: a token would need a volume, which is compared
  ...{ "spec.serviceAccountName": anything, "spec.serviceAccount": anything, "spec.imagePullSecrets": anything },
  "spec.containers[].imagePullPolicy": anything,
  "spec.securityContext.seLinuxOptions": isLevelAlone,
  "spec.containers[].securityContext.seLinuxOptions": isLevelAlone,
  "spec.containers[].securityContext.procMount": (value) => value === "Default",
  "spec.volumes[].downwardAPI.items[].fieldRef.apiVersion": (value) => value === "v1",
};

/** The API leaves these out when they are false, which is what it assumes without them. So it does with empty lists. */
const leftOut: ReadonlySet<string> = new Set([
  ...["spec.hostNetwork", "spec.hostPID", "spec.hostIPC"],
  ...["spec.containers[].stdinOnce", "spec.containers[].tty"],
]);

/** The plug-in AlwaysPullImages sets this. Which image it is, is compared by its id. */
const pulls = { field: "spec.containers[].imagePullPolicy", strictest: "Always" } as const;

/** Labels of nodes and tolerations only decide where the pod runs. */
const scheduling = { selector: "spec.nodeSelector", tolerations: "spec.tolerations" } as const;

const quantities = /\.resources\.(?:limits|requests)\.[^.]+$|\.emptyDir\.sizeLimit$/;

/** Annotations that take a runtime's protection away, or have it add devices or networks. */
const weakening = new RegExp(
  [
    ...["^container\\.(?:apparmor|seccomp)\\.security\\.", "^seccomp-profile\\.kubernetes\\.cri-o\\.io"],
    ...["^io\\.kubernetes\\.cri-o\\.", "^io\\.katacontainers\\.", "^dev\\.gvisor\\."],
    ...["^cdi\\.k8s\\.io/", "^devices\\.nri\\.io/", "^k8s\\.v1\\.cni\\.cncf\\.io/networks$", "^v1\\.multus-cni\\.io/"],
  ].join("|"),
);

/** What to say of a pod that codecell created and that is another one now. */
export const changedPod = "the cluster's admission rules changed the pod, so its receipt would not be true";
export const changedPodHint =
  "exempt the cells' namespace from what changes its pods: `kubectl get mutatingwebhookconfigurations` and `mutatingadmissionpolicies`";

/**
 * Pure: the first field in which a pod is not what was asked for, and how; undefined: it is the same. The attack: whoever makes
 * or admits the pod adds a container, a token or a privilege, or takes a limit away. A field that is not known here is a
 * difference.
 */
export function podDifference(asked: Pick<HardenedPod, "metadata" | "spec">, found: unknown): string | undefined {
  const pod = fieldsOf(found);
  const metadata = fieldsOf(pod.metadata);
  const annotations = fieldsOf(metadata.annotations);
  const weak = Object.keys(annotations).find((name) => weakening.test(name));
  if (weak !== undefined) return `metadata.annotations has ${weak}`;
  return (
    has("metadata.labels", asked.metadata.labels, fieldsOf(metadata.labels)) ??
    has("metadata.annotations", asked.metadata.annotations, annotations) ??
    difference("spec", asked.spec, pod.spec)
  );
}

/** All of these fields, and perhaps others. */
function has(path: string, asked: Fields, found: Fields): string | undefined {
  const name = Object.keys(asked).find((key) => asked[key] !== found[key]);
  return name === undefined ? undefined : `${path}[${name}] is ${text(found[name])} instead of ${text(asked[name])}`;
}

function difference(path: string, asked: unknown, found: unknown): string | undefined {
  const kind = path.replace(/\[\d+\]/g, "[]");
  if (quantities.test(path)) {
    const isSame = quantity(String(asked)) === quantity(String(found));
    return isSame ? undefined : differs(path, asked, found);
  }
  if (kind === scheduling.selector) return has(path, fieldsOf(asked), fieldsOf(found));
  if (kind === scheduling.tolerations) {
    const all = Array.isArray(found) ? found : [];
    const missing = (asked as unknown[]).find((one) => !all.some((other) => isDeepStrictEqual(one, other)));
    return missing === undefined ? undefined : `${path} lacks ${text(missing)}`;
  }
  if (kind === pulls.field && found === pulls.strictest) return undefined;
  if (Array.isArray(asked)) return inLists(path, asked, found ?? []);
  if (typeof asked !== "object" || asked === null) return asked === found ? undefined : differs(path, asked, found);
  if (!isFields(found)) return differs(path, asked, found);
  for (const [key, value] of Object.entries(asked)) {
    if (found[key] === undefined && leftOut.has(`${kind}.${key}`)) continue;
    const one = difference(`${path}.${key}`, value, found[key]);
    if (one !== undefined) return one;
  }
  const own: Fields = { ...asked };
  const added = Object.keys(found).find(
    (key) => !(key in own) && !isEmpty(found[key]) && additions[`${kind}.${key}`]?.(found[key]) !== true,
  );
  return added === undefined ? undefined : `${path}.${added} was added: ${text(found[added])}`;
}

function inLists(path: string, asked: readonly unknown[], found: unknown): string | undefined {
  if (!Array.isArray(found) || found.length !== asked.length) return differs(path, asked, found);
  for (const [at, value] of asked.entries()) {
    const one = difference(`${path}[${at}]`, value, found[at]);
    if (one !== undefined) return one;
  }
  return undefined;
}

function differs(path: string, asked: unknown, found: unknown): string {
  if (Array.isArray(asked) && Array.isArray(found)) {
    const names = found.map((one) => fieldsOf(one).name).filter((name) => typeof name === "string");
    const named = names.length > 0 ? ` (${names.join(", ")})` : "";
    return `${path} has ${found.length} entries${named} instead of ${asked.length}`;
  }
  return `${path} is ${text(found)} instead of ${text(asked)}`;
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === "object" && Object.keys(value).length === 0);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

function text(value: unknown): string {
  const shown = value === undefined ? "missing" : JSON.stringify(value);
  return shown.length > 200 ? `${shown.slice(0, 200)}…` : shown;
}
