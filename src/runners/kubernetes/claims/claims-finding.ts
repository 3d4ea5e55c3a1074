import { missingRights } from "../diagnosis/rights-check.ts";
import type { GatewayPods } from "../gateway/gateway-pods.ts";
import type { ClusterFacts } from "../plan.ts";
import { claimRules } from "../verbs.ts";
import { sandboxApi, servesSandboxes } from "./sandbox-api.ts";
import { missingUserNamespaces } from "./user-namespaces.ts";

/** Why warm pods cannot come from agent-sandbox. */
export interface ClaimsProblem {
  readonly reason: string;
  readonly hint: string;
}

/** Looks for everything that claims need. Starts one probe pod if the rest is there. Undefined: nothing is missing. */
export async function claimsProblem(
  pods: GatewayPods,
  channel: ClusterFacts["channel"],
): Promise<ClaimsProblem | undefined> {
  const { api } = pods;
  const { image } = pods.settings;
  if (channel !== "portforward") {
    const hint = "use the channel portforward, which pods of gVisor and Kata do not have";
    return { reason: "pods of a warm pool are bound to their gateway over a forwarded port", hint };
  }
  if (!(await servesSandboxes(api))) {
    const hint = "install agent-sandbox with its extensions";
    return { reason: `the cluster does not serve ${sandboxApi.group}/${sandboxApi.version}`, hint };
  }
  const { missing, fix } = await missingRights(api, claimRules);
  if (missing.length > 0) return { reason: `rights are missing: ${missing.join(", ")}`, hint: fix };
  if (image === undefined) {
    return { reason: "no image is configured for the probe pod", hint: "set CODECELL_KUBERNETES_IMAGE" };
  }
  const refused = await missingUserNamespaces(pods, image);
  if (refused === undefined) return undefined;
  return {
    reason: `nodes give pods no user namespace, so pods of one pool would share a user: ${refused}`,
    hint: "use Kubernetes 1.33 or newer with a runtime that supports user namespaces (containerd 2, CRI-O 1.25)",
  };
}
