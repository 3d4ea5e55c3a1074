import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { attachTo } from "../channel/attach.ts";
import { readLine } from "../channel/read-line.ts";
import type { SocketStream } from "../channel/socket-stream.ts";
import type { GatewayPods } from "../gateway/gateway-pods.ts";
import { closedLabel, labelsOf } from "../labels.ts";
import { hardenedPod } from "../pod/hardened-pod.ts";
import { StartedPod } from "../pod/started-pod.ts";
import { probePort, probeProgram } from "./probe-program.ts";

/** Stands for the API server's address in the cluster, which every pod finds in its environment. */
export const apiServer = "$KUBERNETES_SERVICE_HOST";
const deadlineSeconds = 120;

/** An address that a probe pod tries. */
export interface Target {
  readonly name: string;
  readonly kind: "tcp" | "udp";
  readonly host: string;
  readonly port: number;
}

const answerSchema = z.object({ reached: z.array(z.string()) });
/** No address but a link-local one is taken from a pod's own words: other pods try it. */
const helloSchema = answerSchema.extend({
  links: z.array(z.string().regex(/^fe[89ab][0-9a-f]:[0-9a-f:]{1,39}%[\w.-]{1,15}$/)).max(8),
});
type Hello = z.output<typeof helloSchema>;

/** A pod that tries to reach addresses, and can be reached. */
export class ProbePod implements AsyncDisposable {
  readonly #pod: StartedPod;
  readonly #stream: SocketStream;
  #rest = "";
  readonly #hello: Hello;

  private constructor(pod: StartedPod, stream: SocketStream, hello: Hello, rest: string) {
    this.#pod = pod;
    this.#stream = stream;
    this.#hello = hello;
    this.#rest = rest;
  }

  /** `isClosed`: with the label of cells, which the policy selects. */
  static async start(pods: GatewayPods, image: string, isClosed: boolean, targets: readonly Target[] = []) {
    const pod = await StartedPod.create(pods.order(probePodOf(pods, image, isClosed, targets)));
    let stream: SocketStream | undefined;
    try {
      await pod.running();
      stream = await attachTo(pods.api, pod.name);
      const { line, rest } = await readLine(stream);
      return new ProbePod(pod, stream, helloSchema.parse(JSON.parse(line)), rest);
    } catch (error) {
      stream?.destroy();
      await pod.remove();
      throw error;
    }
  }

  /** targets that it reached from its first moment on */
  get early(): readonly string[] {
    return this.#hello.reached;
  }

  /** All its addresses: a network may enforce policies for IPv4 alone. */
  get addresses(): readonly string[] {
    const { podIP, podIPs } = this.#pod.last?.status ?? {};
    const all = addressesOf(podIP, podIPs);
    if (all.length === 0) throw new CodecellError("cell_start_failed", "a probe pod has no address");
    return all;
  }

  /** Addresses that only pods on the same link reach. The kernel gives each pod one, and no cluster knows of them. */
  get linkAddresses(): readonly string[] {
    return this.#hello.links;
  }

  get nodeAddresses(): readonly string[] {
    const { hostIP, hostIPs } = this.#pod.last?.status ?? {};
    return addressesOf(hostIP, hostIPs);
  }

  /** Targets for other pods: it answers on TCP and UDP. */
  targets(name: string, addresses: readonly string[]): Target[] {
    return addresses.flatMap((host) =>
      (["tcp", "udp"] as const).map((kind) => ({
        name: `${name}${host.includes(":") ? ` at ${host}` : ""} (${kind})`,
        ...{ kind, host, port: probePort },
      })),
    );
  }

  /** The names of the targets that it reached at least once. */
  async reached(targets: readonly Target[], rounds: number): Promise<readonly string[]> {
    this.#stream.write(`${JSON.stringify({ targets, rounds })}\n`);
    const { line, rest } = await readLine(this.#stream, this.#rest);
    this.#rest = rest;
    return answerSchema.parse(JSON.parse(line)).reached;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stream.destroy();
    await this.#pod.remove();
  }
}

function addressesOf(first: string | undefined, all: readonly { readonly ip: string }[] | null | undefined): string[] {
  return [...new Set([...(first === undefined ? [] : [first]), ...(all ?? []).map(({ ip }) => ip)])];
}

function probePodOf(pods: GatewayPods, image: string, isClosed: boolean, targets: readonly Target[]) {
  const { runtimeClass, nodeSelector, pullPolicy } = pods.settings;
  const size = { memory: String(128 * 1024 * 1024), "ephemeral-storage": String(32 * 1024 * 1024) };
  return hardenedPod({
    name: pods.newName(),
    labels: { ...labelsOf("probe", pods.gateway), ...(isClosed ? closedLabel : {}) },
    image,
    command: ["python3", "-I", "-c", probeProgram],
    args: [JSON.stringify(targets)],
    user: pods.newUser(),
    runtimeFilter: "default",
    resources: {
      limits: { ...size, cpu: "500m" },
      requests: { ...size, cpu: "20m", memory: String(32 * 1024 * 1024) },
    },
    deadlineSeconds,
    ...{ volumes: [], mounts: [], runtimeClass, nodeSelector, pullPolicy },
  });
}
