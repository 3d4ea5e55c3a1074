import type { V1ContainerStatus, V1Pod, V1PodCondition, V1PodStatus } from "@kubernetes/client-node";
import { timestamp } from "../api/api-object.ts";

/** Status as JSON: the client's types have dates where the wire has text. */
type Json<T> = T extends Date ? string : T extends object ? { -readonly [K in keyof T]: Json<T[K]> } : T;
export type WireStatus = Json<V1PodStatus>;
type WireCondition = Json<V1PodCondition>;
export type WireContainerStatus = Json<V1ContainerStatus>;

/** Why a container has not started. */
export interface Waiting {
  readonly reason: string;
  readonly message?: string;
}

export interface Ended {
  readonly exitCode: number;
  readonly reason: string;
  readonly startedAt: string;
  readonly message?: string;
}

/** Pure: sets one condition, and the time if it changes. */
export function withCondition(
  status: WireStatus,
  type: string,
  value: "True" | "False" | "Unknown",
  why: { reason?: string; message?: string } = {},
): void {
  const conditions = (status.conditions ?? []) as WireCondition[];
  const before = conditions.find((one) => one.type === type);
  const lastTransitionTime = before?.status === value ? before.lastTransitionTime : timestamp();
  const next = { type, status: value, lastProbeTime: null, lastTransitionTime, ...why } as unknown as WireCondition;
  status.conditions = [...conditions.filter((one) => one.type !== type), next];
}

export function unschedulable(status: WireStatus, message: string): void {
  withCondition(status, "PodScheduled", "False", { reason: "Unschedulable", message });
}

export function scheduled(status: WireStatus): void {
  withCondition(status, "PodScheduled", "True");
}

export function waiting(status: WireStatus, pod: V1Pod, why: Waiting): void {
  const notReady = { reason: "ContainersNotReady", message: `containers with unready status: [${nameOf(pod)}]` };
  withCondition(status, "Initialized", "True");
  withCondition(status, "Ready", "False", notReady);
  withCondition(status, "ContainersReady", "False", notReady);
  status.phase = "Pending";
  status.startTime ??= timestamp();
  status.containerStatuses = [containerStatus(pod, { waiting: { ...why } })];
}

export function running(
  status: WireStatus,
  pod: V1Pod,
  { startedAt, podIps, hostIp }: { startedAt: string; podIps: readonly string[]; hostIp: string },
): void {
  for (const type of ["Initialized", "Ready", "ContainersReady"]) withCondition(status, type, "True");
  status.phase = "Running";
  Object.assign(status, { podIP: podIps[0], podIPs: podIps.map((ip) => ({ ip })), hostIP: hostIp });
  status.containerStatuses = [{ ...containerStatus(pod, { running: { startedAt } }), ready: true, started: true }];
}

/** The container has exited: so has the pod, since it is never restarted. */
export function ended(status: WireStatus, pod: V1Pod, { exitCode, reason, startedAt, message }: Ended): void {
  const isDone = exitCode === 0;
  const why = isDone
    ? { reason: "PodCompleted" }
    : { reason: "ContainersNotReady", message: `containers with unready status: [${nameOf(pod)}]` };
  withCondition(status, "Initialized", "True", isDone ? why : {});
  for (const type of ["Ready", "ContainersReady"]) withCondition(status, type, "False", why);
  if (status.phase !== "Failed") status.phase = isDone ? "Succeeded" : "Failed"; // it was evicted or too late before
  const terminated = {
    exitCode,
    reason,
    startedAt,
    finishedAt: timestamp(),
    containerID: containerId(pod),
    ...(message ? { message } : {}),
  };
  status.containerStatuses = [containerStatus(pod, { terminated })];
}

function containerStatus(pod: V1Pod, state: WireContainerStatus["state"] & object): WireContainerStatus {
  const image = pod.spec?.containers[0]?.image ?? "";
  const hasStarted = state.waiting === undefined;
  return {
    ...{ name: nameOf(pod), state, lastState: {}, ready: false, started: false, restartCount: 0, image },
    imageID: hasStarted ? imageId(image) : "",
    ...(hasStarted ? { containerID: containerId(pod) } : {}),
  } as WireContainerStatus;
}

const nameOf = (pod: V1Pod): string => pod.spec?.containers[0]?.name ?? "";
const containerId = (pod: V1Pod): string => `containerd://${pod.metadata?.uid?.replaceAll("-", "").padEnd(64, "0")}`;

/** The content behind an image's name never changes here. */
export const imageId = (image: string): string =>
  `sha256:${Buffer.from(image).toString("hex").padEnd(64, "0").slice(0, 64)}`;
