import { z } from "zod";
import { refusedStatus } from "../diagnosis/cluster-check.ts";

/** The version of agent-sandbox's resources that codecell speaks. */
export const sandboxApi = { group: "extensions.agents.x-k8s.io", version: "v1beta1" } as const;

/** What codecell keeps in it, in the order in which it is removed: a claim's pod goes with the claim. */
export const sandboxResources = ["sandboxclaims", "sandboxwarmpools", "sandboxtemplates"] as const;

const resourcesSchema = z.object({ resources: z.array(z.object({ name: z.string() })) });

interface Question {
  readonly verb: "get";
  readonly resource: string;
  readonly path: string;
}

/** Whether the cluster serves the resources in the version that codecell speaks. */
export async function servesSandboxes(api: { json(question: Question): Promise<unknown> }): Promise<boolean> {
  const path = `/apis/${sandboxApi.group}/${sandboxApi.version}`;
  try {
    const { resources } = resourcesSchema.parse(await api.json({ verb: "get", resource: "apigroups", path }));
    return sandboxResources.every((name) => resources.some((one) => one.name === name));
  } catch (error) {
    if (refusedStatus(error) === 404) return false;
    throw error;
  }
}
