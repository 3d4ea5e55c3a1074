import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { attachTo } from "../channel/attach.ts";
import { knockProgram } from "../channel/knock-program.ts";
import { readLine } from "../channel/read-line.ts";
import type { GatewayPods } from "../gateway/gateway-pods.ts";
import { closedLabel, labelsOf } from "../labels.ts";
import { hardenedPod } from "../pod/hardened-pod.ts";
import { StartedPod } from "../pod/started-pod.ts";

const deadlineSeconds = 120;
/** Of every pod of a warm pool, in a user namespace of its own. A kubelet maps the ids below 65,536. */
export const pooledUser = { uid: 10_001, gid: 10_001 } as const;

const program = `${knockProgram}
await_host()
os.write(1, b" ".join(open("/proc/self/uid_map", "rb").read().split()) + b"\\n")
`;

/** Tries whether nodes give pods a user namespace (`hostUsers: false`). Returns why not; undefined: they do. */
export async function missingUserNamespaces(pods: GatewayPods, image: string): Promise<string | undefined> {
  try {
    const pod = await StartedPod.create(pods.order(probePod(pods, image)));
    try {
      await pod.running();
      const stream = await attachTo(pods.api, pod.name);
      const { line } = await readLine(stream).finally(() => stream.destroy());
      return isHostMap(line) ? "nodes ignore `hostUsers: false`" : undefined;
    } finally {
      await pod.remove();
    }
  } catch (error) {
    if (error instanceof CodecellError && error.code === "runner_unavailable") throw error;
    return messageOf(error);
  }
}

/** Pure: whether a uid map is that of a node: every id, and each is itself. */
export function isHostMap(map: string): boolean {
  return map.trim().split(/\s+/).join(" ") === "0 0 4294967295";
}

function probePod(pods: GatewayPods, image: string) {
  const { runtimeClass, nodeSelector, pullPolicy } = pods.settings;
  const size = { memory: String(128 * 1024 * 1024), "ephemeral-storage": String(32 * 1024 * 1024) };
  return hardenedPod({
    name: pods.newName(),
    labels: { ...labelsOf("probe", pods.gateway), ...closedLabel },
    image,
    command: ["python3", "-I", "-c", program],
    user: pooledUser,
    hasUserNamespace: true,
    runtimeFilter: "default",
    resources: {
      limits: { ...size, cpu: "500m" },
      requests: { ...size, cpu: "20m", memory: String(32 * 1024 * 1024) },
    },
    deadlineSeconds,
    ...{ volumes: [], mounts: [], runtimeClass, nodeSelector, pullPolicy },
  });
}
