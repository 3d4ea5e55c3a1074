import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { attachTo } from "../channel/attach.ts";
import { knockProgram } from "../channel/knock-program.ts";
import { readLine } from "../channel/read-line.ts";
import type { SocketStream } from "../channel/socket-stream.ts";
import type { GatewayPods } from "../gateway/gateway-pods.ts";
import { closedLabel, labelsOf } from "../labels.ts";
import { hardenedPod } from "../pod/hardened-pod.ts";
import { StartedPod } from "../pod/started-pod.ts";

export const probePort = 8765;
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

/**
 * Answers on TCP and UDP, and tries addresses. The last argument holds those that it tries from its first moment on: some
 * networks close a pod only a while after it started. Only an accepted connection or an answer counts as reached, because
 * every target is one that a pod without a policy reached.
 */
const program = `${knockProgram}
import json, select, socket, sys, threading, time
def serve():
    tcp, udp = socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for one in (tcp, udp): one.bind(("0.0.0.0", ${probePort}))
    tcp.listen(64)
    while True:
        for one in select.select([tcp, udp], [], [])[0]:
            try:
                if one is tcp: tcp.accept()[0].close()
                else: udp.sendto(b"here", udp.recvfrom(64)[1])
            except OSError: pass
def reaches(target):
    kind = socket.SOCK_STREAM if target["kind"] == "tcp" else socket.SOCK_DGRAM
    with socket.socket(socket.AF_INET, kind) as one:
        one.settimeout(1)
        try:
            one.connect((os.path.expandvars(target["host"]), target["port"]))
            if target["kind"] == "udp":
                one.send(b"knock")
                one.recv(64)
            return True
        except OSError: return False
def tries(targets, rounds):
    reached = set()
    def attempt(target):
        if reaches(target): reached.add(target["name"])
    for _ in range(rounds):
        threads = [threading.Thread(target=attempt, args=(one,)) for one in targets]
        for one in threads: one.start()
        for one in threads: one.join()
        time.sleep(0.1)
    return sorted(reached)
threading.Thread(target=serve, daemon=True).start()
early = tries(json.loads(sys.argv[-1]), 3)
await_host()
print(json.dumps({"reached": early}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"reached": tries(request["targets"], request["rounds"])}), flush=True)
`;

const answerSchema = z.object({ reached: z.array(z.string()) });

/** A pod that tries to reach addresses, and can be reached. */
export class ProbePod implements AsyncDisposable {
  readonly #pod: StartedPod;
  readonly #stream: SocketStream;
  #rest = "";
  /** targets that it reached from its first moment on */
  readonly early: readonly string[];

  private constructor(pod: StartedPod, stream: SocketStream, early: readonly string[], rest: string) {
    this.#pod = pod;
    this.#stream = stream;
    this.early = early;
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
      return new ProbePod(pod, stream, answerSchema.parse(JSON.parse(line)).reached, rest);
    } catch (error) {
      stream?.destroy();
      await pod.remove();
      throw error;
    }
  }

  /** Its address, and that of its node. */
  get addresses(): { readonly pod: string; readonly node: string | undefined } {
    const { podIP, hostIP } = this.#pod.last?.status ?? {};
    if (podIP === undefined) throw new CodecellError("cell_start_failed", "a probe pod has no address");
    return { pod: podIP, node: hostIP };
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

function probePodOf(pods: GatewayPods, image: string, isClosed: boolean, targets: readonly Target[]) {
  const { runtimeClass, nodeSelector, pullPolicy } = pods.settings;
  const size = { memory: String(128 * 1024 * 1024), "ephemeral-storage": String(32 * 1024 * 1024) };
  return hardenedPod({
    name: pods.newName(),
    labels: { ...labelsOf("probe", pods.gateway), ...(isClosed ? closedLabel : {}) },
    image,
    command: ["python3", "-I", "-c", program],
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
