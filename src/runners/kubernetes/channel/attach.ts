import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { deadline } from "../../../lib/waiting/deadline.ts";
import { ApiRefusal } from "../client/api-refusal.ts";
import type { ClusterApi } from "../client/cluster-api.ts";
import { containerName } from "../pod/hardened-pod.ts";
import { knock } from "./knock.ts";
import { attachNumbers, SocketStream } from "./socket-stream.ts";

const connectMs = 20_000;

/** Connects to the standard streams of a pod's first process, and waits until it answers. */
export async function attachTo(api: ClusterApi, pod: string, signal?: AbortSignal): Promise<SocketStream> {
  const query = new URLSearchParams({
    ...{ container: containerName, stdin: "true", stdout: "true", stderr: "true", tty: "false" },
  });
  using limit = deadline(connectMs, signal);
  const stream = new SocketStream(attachNumbers);
  const path = `${api.path("pods", pod)}/attach?${query}`;
  const limits = { timeoutMs: connectMs, signal: limit.signal };
  const socket = await api.connection.socket(path, stream.onMessage, limits).catch((error: unknown) => {
    throw api.explain(refusedUpgrade(error), { verb: "get", resource: "pods/attach" });
  });
  stream.carry(socket);
  try {
    await knock(stream, limit.signal);
    return stream;
  } catch (error) {
    stream.destroy();
    const said = serverSays(stream.status);
    if (said === undefined || !(error instanceof CodecellError)) throw error;
    throw new CodecellError("cell_start_failed", `the node refused the connection to the pod: ${said}`, {
      cause: error,
    });
  }
}

/** What the status at the end of a stream says, if it is a failure. */
export function serverSays(status: string): string | undefined {
  try {
    const { status: outcome, message } = JSON.parse(status) as { status?: unknown; message?: unknown };
    return outcome === "Failure" ? String(message).slice(0, 300) : undefined;
  } catch {
    return undefined;
  }
}

/** A refused upgrade is an event with a text, in which the status is. */
export function refusedUpgrade(error: unknown): unknown {
  const message = messageOf((error as { error?: unknown })?.error ?? (error as { message?: string })?.message ?? error);
  const status = /Unexpected server response: (\d{3})/.exec(message)?.[1];
  return status === undefined ? new Error(message) : new ApiRefusal(Number(status), "", message);
}
