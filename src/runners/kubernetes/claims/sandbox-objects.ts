import { z } from "zod";
import type { Logger } from "../../../lib/log/logger.ts";
import { ApiRefusal } from "../client/api-refusal.ts";
import type { ClusterApi } from "../client/cluster-api.ts";
import { gatewayLabel, managedBy, selectorOf } from "../labels.ts";
import { sandboxResources } from "./sandbox-api.ts";

const listSchema = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), uid: z.string(), labels: z.record(z.string(), z.string()).catch({}) }),
    }),
  ),
});

export type SandboxResource = (typeof sandboxResources)[number];

/** Creates a template or a pool. Its name says what is in it, so one that exists is the same. */
export async function createOnce(api: ClusterApi, resource: SandboxResource, body: object): Promise<void> {
  const request = { verb: "create", resource, path: api.path(resource), body } as const;
  await api.json(request).catch((error: unknown) => {
    if (!(error instanceof ApiRefusal && error.status === 409)) throw api.explain(error, request);
  });
}

/** Deletes one object; with a uid, this one and no other that has its name by now. What is gone is gone. */
export async function deleteSandboxObject(
  api: ClusterApi,
  resource: SandboxResource,
  name: string,
  uid?: string,
): Promise<void> {
  const body = uid === undefined ? undefined : { preconditions: { uid } };
  const request = { verb: "delete", resource, path: api.path(resource, name), body } as const;
  await api.json(request).catch((error: unknown) => {
    if (!(error instanceof ApiRefusal && (error.status === 404 || error.status === 409))) {
      throw api.explain(error, request);
    }
  });
}

/** Deletes what gateways have in agent-sandbox's resources. Where these are not installed or not permitted, there is nothing. */
export async function deleteSandboxObjects(
  api: ClusterApi,
  isMeant: (gateway: string) => Promise<boolean> | boolean,
  logger: Logger,
): Promise<void> {
  const query = { labelSelector: selectorOf(managedBy) };
  for (const resource of sandboxResources) {
    const request = { verb: "list", resource, path: api.path(resource), query } as const;
    const list = await api.json(request).catch((error: unknown) => {
      if (error instanceof ApiRefusal && (error.status === 404 || error.status === 403)) return undefined;
      throw api.explain(error, request);
    });
    if (list === undefined) return;
    for (const { name, uid, labels } of listSchema.parse(list).items.map(({ metadata }) => metadata)) {
      const gateway = labels[gatewayLabel];
      if (gateway === undefined || !(await isMeant(gateway))) continue;
      logger.info("deleting what a gateway left in agent-sandbox", { resource, name });
      await deleteSandboxObject(api, resource, name, uid);
    }
  }
}
