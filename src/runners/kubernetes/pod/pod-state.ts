import { CodecellError } from "../../../lib/errors.ts";
import type { WatchedPod } from "./watched-pod.ts";

/** What a pod's status means for the start of its cell. */
export type Starting =
  | { readonly kind: "waiting"; readonly why: string | undefined }
  | { readonly kind: "running"; readonly imageId: string }
  | { readonly kind: "failed"; readonly error: CodecellError };

/** Reasons of a waiting container that do not pass by waiting, and what to do about them. */
const stuck: Readonly<Record<string, string>> = {
  ImagePullBackOff: "check the image's name and that the nodes may pull it",
  ErrImageNeverPull: "load the image on the nodes, or set CODECELL_KUBERNETES_PULL_POLICY",
  InvalidImageName: "correct kernel.image or CODECELL_KUBERNETES_IMAGE",
  CreateContainerConfigError: "see `kubectl describe pod`: an object that the pod needs is missing",
  CreateContainerError: "see `kubectl describe pod`: the node's runtime refuses the container",
  RunContainerError: "see `kubectl describe pod`: the node's runtime refuses the container",
};

/** Pure: whether the container of a pod runs, may still start, or will not. */
export function starting(pod: WatchedPod): Starting {
  const { status, metadata } = pod;
  const container = status.containerStatuses?.[0];
  if (metadata.deletionTimestamp || container?.state?.terminated || isOver(pod)) {
    return { kind: "failed", error: asStartError(endingOf(pod)) };
  }
  if (container?.state?.running) return { kind: "running", imageId: container.imageID };
  const waiting = container?.state?.waiting;
  const hint = stuck[waiting?.reason ?? ""];
  if (waiting && hint !== undefined) {
    const said = waiting.message ? `: ${waiting.message.slice(0, 300)}` : "";
    return {
      kind: "failed",
      error: new CodecellError("cell_start_failed", `the pod cannot start: ${waiting.reason}${said}`, { hint }),
    };
  }
  return { kind: "waiting", why: waitingFor(pod) };
}

/** Pure: the error for a pod that did not run in time. */
export function tooLate(pod: WatchedPod | undefined, waitedMs: number): CodecellError {
  const why = pod && waitingFor(pod);
  const isUnschedulable = why?.startsWith("Unschedulable") === true;
  return new CodecellError(
    "cell_start_failed",
    `the pod did not start within ${Math.round(waitedMs / 1000)} s${why ? `: ${why}` : ""}`,
    {
      hint: isUnschedulable
        ? "add nodes or close sessions; CODECELL_KUBERNETES_REQUESTS sets how much of its limits a pod reserves"
        : "see `kubectl get events`; CODECELL_KUBERNETES_START_TIMEOUT sets how long a pod may take",
    },
  );
}

function waitingFor({ status }: WatchedPod): string | undefined {
  const scheduled = status.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status === "False") return reasonAndMessage(scheduled);
  const waiting = status.containerStatuses?.[0]?.state?.waiting;
  if (waiting) return reasonAndMessage(waiting);
  return status.reason ? reasonAndMessage(status) : undefined;
}

function reasonAndMessage({
  reason = "",
  message,
}: {
  reason?: string | undefined;
  message?: string | undefined;
}): string {
  return message ? `${reason}: ${message.slice(0, 300)}` : reason;
}

export function isOver({ status }: WatchedPod): boolean {
  return status.phase === "Failed" || status.phase === "Succeeded";
}

/**
 * Whether the cluster has lost the pod's node, so that nobody ends its processes or reports their end. Only the control plane
 * changes a pod from ready to not ready while its containers are ready.
 */
export function isOnLostNode({ status }: WatchedPod): boolean {
  const is = (type: string) => status.conditions?.find((condition) => condition.type === type);
  const ready = is("Ready");
  if (status.reason === "NodeLost" || ready?.reason === "NodeNotReady") return true;
  return ready?.status === "False" && is("ContainersReady")?.status === "True";
}

/** How a pod ended. */
export interface PodEnding {
  readonly exitCode: number | null;
  readonly isOutOfMemory: boolean;
  /** what the entry wrote about its own failure, before user code */
  readonly message: string;
  readonly error: CodecellError;
}

/** Pure: how a pod ended that codecell did not end, in words that name the node. */
export function endingOf(pod: WatchedPod): PodEnding {
  const { status, metadata, spec } = pod;
  const container = status.containerStatuses?.[0];
  const terminated = container?.state?.terminated ?? container?.lastState?.terminated;
  const where = spec.nodeName === undefined ? "" : ` on the node ${spec.nodeName}`;
  const lost = (message: string) => new CodecellError("cell_lost", message, { details: { node: spec.nodeName } });
  const isOutOfMemory = terminated?.reason === "OOMKilled";
  const known = {
    exitCode: terminated?.exitCode ?? null,
    isOutOfMemory,
    message: terminated?.message?.slice(0, 2000) ?? "",
  };
  const ended = (message: string): PodEnding => ({ ...known, error: lost(message) });
  const said = status.message ? `: ${status.message.slice(0, 300)}` : "";
  const disruption = status.conditions?.find(({ type, status: is }) => type === "DisruptionTarget" && is === "True");
  switch (status.reason ?? disruption?.reason) {
    case "Evicted":
      return ended(`the pod${where} was evicted${said}`);
    case "DeadlineExceeded":
      return ended(`the pod${where} reached the session's lifetime`);
    case "Preempting":
    case "PreemptionByScheduler":
      return ended(`the pod${where} was preempted by one with a higher priority`);
    case "NodeLost":
    case "DeletionByTaintManager":
      return ended(`the pod was lost with its node${where.replace(" on the node", "")}`);
    case "NodeShutdown":
    case "Shutdown":
    case "Terminated":
    case "TerminationByKubelet":
      return ended(`the pod ended because its node${where.replace(" on the node", "")} shuts down`);
  }
  if (isOutOfMemory) return ended(`the pod${where} was killed because it ran out of memory`);
  if (metadata.deletionTimestamp && !terminated) {
    return ended(
      isOnLostNode(pod)
        ? `the pod was lost with its node${where.replace(" on the node", "")}`
        : `the pod${where} was deleted, but not by codecell`,
    );
  }
  if (terminated?.exitCode === 137) return ended(`the pod's process${where} was killed`);
  if (terminated) return ended(`the pod's process${where} exited with code ${terminated.exitCode}`);
  return ended(`the pod${where} ended${said}`);
}

/** A pod whose object is gone: the API does not tell why. */
export function deletedEnding(last: WatchedPod | undefined): PodEnding {
  if (last && (last.status.reason || isOver(last) || last.metadata.deletionTimestamp)) return endingOf(last);
  const where = last?.spec.nodeName === undefined ? "" : ` on the node ${last.spec.nodeName}`;
  const details = { node: last?.spec.nodeName };
  const error = new CodecellError("cell_lost", `the pod${where} was deleted, but not by codecell`, { details });
  return { exitCode: null, isOutOfMemory: false, message: "", error };
}

function asStartError({ error, message, exitCode }: PodEnding): CodecellError {
  const said = message.trim().split("\n").at(-1)?.slice(0, 300);
  const what = said ? `the cell exited before it was ready (exit code ${exitCode}): ${said}` : error.message;
  return new CodecellError("cell_start_failed", what, { cause: error, details: error.details });
}
