import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import type { IsolationLevel } from "../../policy/isolation.ts";

/**
 * What keeps a cell off the network. `namespace`: its first process moves into a network namespace of its own, which needs a
 * pod without the runtime's system call filter; ours is added. `policy`: a NetworkPolicy, once probe pods have shown that the
 * cluster enforces it. `auto`: the namespace where the runtime's filter allows it, otherwise the policy.
 */
export type NetworkProof = "auto" | "namespace" | "policy";

/** How the gateway talks to its pods. `auto`: a forwarded port, except to pods with an OS kernel of their own, whose loopback no node sees. */
export type ChannelKind = "auto" | "attach" | "portforward";

/**
 * Whether the warm pods of a policy are kept by agent-sandbox and handed out as claims. `auto`: where its resources are served, the
 * gateway has the rights and nodes give pods user namespaces; otherwise codecell keeps warm pods itself. `on`: or nothing starts.
 */
export type ClaimUse = "auto" | "on" | "off";

/** When nodes pull the image again. */
export type PullPolicy = "Always" | "IfNotPresent" | "Never";

/** The operator's choices. None of them can come from a policy. */
export interface KubernetesSettings {
  /** default: the namespace of the context, or of the pod that this process runs in */
  readonly namespace: string | undefined;
  readonly image: string | undefined;
  /** path of a kubeconfig file; default: what KUBECONFIG names, ~/.kube/config, or the service account of the pod */
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly runtimeClass: string | undefined;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly pullPolicy: PullPolicy | undefined;
  readonly network: NetworkProof;
  readonly channel: ChannelKind;
  readonly claims: ClaimUse;
  /** how long a pod may take until its container runs */
  readonly startMs: number;
  /** the part of its limits that a pod reserves on its node */
  readonly requests: { readonly cpu: number; readonly memory: number };
}

export const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";
const defaults = { startMs: 60_000, requests: { cpu: 0.1, memory: 0.25 } } as const;

/** Pure: the settings in the environment. A wrong value is an error: ignoring it could start cells elsewhere. */
export function kubernetesSettings(env: NodeJS.ProcessEnv = process.env): KubernetesSettings {
  const read = (name: string) => env[`CODECELL_KUBERNETES_${name}`]?.trim() || undefined;
  return {
    namespace: matching("NAMESPACE", read("NAMESPACE"), /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/),
    image: read("IMAGE"),
    kubeconfig: undefined, // the client reads KUBECONFIG, which may be a list of files
    context: read("CONTEXT"),
    runtimeClass: matching("RUNTIME_CLASS", read("RUNTIME_CLASS"), /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/),
    nodeSelector: pairs("NODE_SELECTOR", read("NODE_SELECTOR")),
    pullPolicy: oneOf("PULL_POLICY", read("PULL_POLICY"), ["Always", "IfNotPresent", "Never"]),
    network: oneOf("NETWORK", read("NETWORK"), ["auto", "namespace", "policy"]) ?? "auto",
    channel: oneOf("CHANNEL", read("CHANNEL"), ["auto", "attach", "portforward"]) ?? "auto",
    claims: oneOf("CLAIMS", read("CLAIMS"), ["auto", "on", "off"]) ?? "auto",
    startMs: seconds("START_TIMEOUT", read("START_TIMEOUT")) ?? defaults.startMs,
    requests: shares("REQUESTS", read("REQUESTS")),
  };
}

/** Whether `auto` considers this runner: a cluster that happens to be in somebody's kubeconfig is not meant for cells. */
export function isMeantForCells(env: NodeJS.ProcessEnv = process.env): boolean {
  return Boolean(env.CODECELL_KUBERNETES_NAMESPACE) || isInCluster(env);
}

export function isInCluster(env: NodeJS.ProcessEnv = process.env): boolean {
  return Boolean(env.KUBERNETES_SERVICE_HOST) && existsSync(`${serviceAccount}/token`);
}

/** Whether there are credentials at all. Answers without loading the client. */
export function hasCredentials(env: NodeJS.ProcessEnv = process.env): boolean {
  return Boolean(env.KUBECONFIG) || isInCluster(env) || existsSync(join(homedir(), ".kube", "config"));
}

/** Pure: the level that the operator's RuntimeClass stands for by its name. Each cell proves it from inside, or does not start. */
export function declaredIsolation(runtimeClass: string | undefined): IsolationLevel {
  if (runtimeClass === undefined) return "container";
  return /gvisor|runsc/.test(runtimeClass) ? "gvisor" : "container";
}

/**
 * Pure: whether pods of this RuntimeClass have their loopback interface in an OS kernel of their own, where no kubelet reaches a port.
 * A guess by the name: what a class runs is not readable for a gateway.
 */
export function hasOwnLoopback(runtimeClass: string | undefined): boolean {
  return runtimeClass !== undefined && /gvisor|runsc|kata/.test(runtimeClass);
}

function wrong(name: string, value: string, expected: string): CodecellError {
  return new CodecellError("usage", `CODECELL_KUBERNETES_${name} is not valid: ${JSON.stringify(value)}`, {
    hint: `set it to ${expected}`,
  });
}

function matching(name: string, value: string | undefined, pattern: RegExp): string | undefined {
  if (value !== undefined && !pattern.test(value))
    throw wrong(name, value, "a name of lowercase letters, digits and dashes, such as codecell");
  return value;
}

function oneOf<Word extends string>(name: string, value: string | undefined, words: readonly Word[]): Word | undefined {
  const found = words.find((word) => word === value);
  if (value !== undefined && found === undefined) throw wrong(name, value, `one of ${words.join(", ")}`);
  return found;
}

function seconds(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value.replace(/s$/, ""));
  if (!(number > 0 && number <= 3600)) throw wrong(name, value, "a number of seconds up to 3600");
  return number * 1000;
}

function pairs(name: string, value: string | undefined): Record<string, string> {
  const entries = (value ?? "").split(",").filter((entry) => entry.trim() !== "");
  return Object.fromEntries(
    entries.map((entry) => {
      const [key, ...rest] = entry.trim().split("=");
      if (!key || rest.length !== 1) throw wrong(name, value ?? "", "labels such as pool=cells,disk=ssd");
      return [key, rest[0] ?? ""];
    }),
  );
}

function shares(name: string, value: string | undefined): KubernetesSettings["requests"] {
  const given = pairs(name, value);
  const share = (key: "cpu" | "memory") => {
    const number = given[key] === undefined ? defaults.requests[key] : Number(given[key]);
    if (!(number > 0 && number <= 1))
      throw wrong(name, value ?? "", "parts of the limits, such as cpu=0.1,memory=0.25");
    return number;
  };
  return { cpu: share("cpu"), memory: share("memory") };
}
