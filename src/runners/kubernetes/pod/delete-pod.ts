import { ApiRefusal } from "../client/api-refusal.ts";
import type { ClusterApi } from "../client/cluster-api.ts";

export interface DeleteOptions {
  /** deletes this pod and no other that has its name by now */
  readonly uid?: string;
  /** 0: the API forgets the pod at once, whatever its kubelet says */
  readonly graceSeconds?: number;
}

/** Asks for the deletion of a pod. `gone`: it did not exist any more, or is another one. */
export async function deletePod(
  api: ClusterApi,
  name: string,
  { uid, graceSeconds }: DeleteOptions,
): Promise<"deleting" | "gone"> {
  const body = {
    ...(graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds }),
    ...(uid === undefined ? {} : { preconditions: { uid } }),
  };
  const request = { verb: "delete", resource: "pods", path: api.path("pods", name), body } as const;
  try {
    await api.json(request);
    return "deleting";
  } catch (error) {
    if (error instanceof ApiRefusal && (error.status === 404 || error.status === 409)) return "gone";
    throw api.explain(error, request);
  }
}
