import type { ClusterApi } from "../client/cluster-api.ts";
import { refusedUpgrade } from "./attach.ts";
import { portForwardNumbers, SocketStream } from "./socket-stream.ts";

const connectMs = 10_000;

/** Connects to a port on the pod's loopback interface, through the API server and the kubelet. Nothing of it is logged. */
export async function forwardTo(
  api: ClusterApi,
  pod: string,
  port: number,
  signal?: AbortSignal,
): Promise<SocketStream> {
  const stream = new SocketStream(portForwardNumbers);
  const path = `${api.path("pods", pod)}/portforward?ports=${port}`;
  const socket = await api.connection
    .socket(path, stream.onMessage, { timeoutMs: connectMs, signal })
    .catch((error) => {
      throw api.explain(refusedUpgrade(error), { verb: "get", resource: "pods/portforward" });
    });
  return stream.carry(socket);
}
