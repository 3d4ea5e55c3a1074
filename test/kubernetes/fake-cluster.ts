import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import { type KubernetesRunnerOptions, kubernetesRunner } from "../../src/runners/kubernetes/runner.ts";
import type { SandboxRunner } from "../../src/runners/runner.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import type { Run } from "../../src/sessions/runs/run.ts";
import type { ApiObject } from "../fakes/kubernetes-api/api/api-object.ts";
import { customResources, pods, resources } from "../fakes/kubernetes-api/api/resource-table.ts";
import type { KubernetesApiDouble } from "../fakes/kubernetes-api/kubernetes-api-double.ts";

/** A runner whose cells are pods of the fake cluster. */
export function runnerOn(double: KubernetesApiDouble, options: Partial<KubernetesRunnerOptions> = {}): SandboxRunner {
  const { kubeconfig, namespace } = double;
  return kubernetesRunner({ kubeconfig, namespace, image: "codecell-python:test", ...options });
}

/** Sessions of such a runner. Closing them disposes the runner. */
export function sessionsOn(
  double: KubernetesApiDouble,
  policy: PolicyInput = {},
  options: Partial<KubernetesRunnerOptions> = {},
): Promise<LiveSessions> {
  return LiveSessions.open({ policy: parsePolicy(policy), runners: [runnerOn(double, options)] });
}

/** Pods by the role in their labels. */
export function podsOf(
  double: KubernetesApiDouble,
  role: "cell" | "probe" | "examiner" = "cell",
): readonly ApiObject[] {
  return double.store.list(pods, undefined).filter(({ metadata }) => metadata.labels?.["codecell/role"] === role);
}

/** The one pod that runs a cell. */
export function onlyCell(double: KubernetesApiDouble): { readonly name: string; readonly node: string } {
  const [pod, ...others] = podsOf(double);
  if (pod === undefined || others.length > 0) throw new Error(`not one cell, but ${pod ? others.length + 1 : 0}`);
  return { name: pod.metadata.name, node: String((pod.spec as { nodeName?: string }).nodeName) };
}

/** Names of all objects that carry codecell's label, such as `leases codecell-gateway-1`. */
export function leftIn(double: KubernetesApiDouble): readonly string[] {
  const isOurs = ({ metadata }: ApiObject) => metadata.labels?.["app.kubernetes.io/managed-by"] === "codecell";
  return [...resources, ...customResources].flatMap((resource) => {
    const objects = double.store.list(resource, undefined).filter(isOurs);
    return objects.map(({ metadata }) => `${resource.plural} ${metadata.name}`);
  });
}

/** Starts a run that does not end, and returns when its first output is there. */
export async function endlessRun(session: LiveSession): Promise<{ readonly ongoing: Run }> {
  const ongoing = session.run("print('on', flush=True)\nimport time\nwhile True: time.sleep(0.1)");
  for await (const { type } of ongoing) if (type === "stdout") return { ongoing };
  throw new Error(`it ended: ${(await ongoing).notes.join()}`);
}
