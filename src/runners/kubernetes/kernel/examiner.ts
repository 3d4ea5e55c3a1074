import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { askImage, type ImageAnswer } from "../../images/image-question.ts";
import type { ImageCommand, ImageCommandResult } from "../../images/run-in-image.ts";
import type { KernelSource } from "../../kernel-sources.ts";
import { attachTo } from "../channel/attach.ts";
import { knockProgram } from "../channel/knock-program.ts";
import { ApiRefusal } from "../client/api-refusal.ts";
import type { GatewayPods } from "../gateway/gateway-pods.ts";
import { closedLabel, labelsOf } from "../labels.ts";
import { hardenedPod, memoryVolume } from "../pod/hardened-pod.ts";
import { StartedPod } from "../pod/started-pod.ts";

const scratchBytes = 16 * 1024 * 1024;
const deadlineSeconds = 180;
const lineEnd = 10;

/** The namespaces that cells move into, as in `leave_network` of `entry/pod.py`. gVisor has some of them and not the others. */
const namespaces = { node: 0x5202_0000, gvisor: 0x5000_0000 } as const;

/**
 * Answers the host's knocks as `entry/pod.py` does, and says what the node's runtime allows. Whether a process may have a
 * network namespace of its own is tried in a child, which ends at once. gVisor with the node's network gives it one without a
 * loopback.
 */
export const examinerPreamble = (hasOwnKernel: boolean) => `import ctypes, json, socket
${knockProgram}
def may_leave_network():
    child = os.fork()
    if child == 0:
        try:
            left = ctypes.CDLL(None).unshare(${hasOwnKernel ? namespaces.gvisor : namespaces.node}) == 0
            os._exit(0 if left and [name for _, name in socket.if_nameindex()] == ["lo"] else 1)
        finally: os._exit(1)
    return os.waitpid(child, 0)[1] == 0
await_host()
os.write(1, json.dumps({"machine": os.uname().machine, "mayLeaveNetwork": may_leave_network()}).encode() + b"\\n")
`;

const nodeFactsSchema = z.object({
  machine: z.enum(["x86_64", "aarch64"]),
  /** a process of a pod may create a network namespace under the runtime's system call filter */
  mayLeaveNetwork: z.boolean(),
});

export type Examined = ImageAnswer & z.output<typeof nodeFactsSchema> & { readonly imageId: string };

/** Runs the image's Python once in a pod of its own, which describes it and compiles the kernel for it. */
export async function examineImage(
  pods: GatewayPods,
  image: string,
  { sources, hasOwnKernel }: { readonly sources: readonly KernelSource[]; readonly hasOwnKernel: boolean },
): Promise<Examined> {
  let node: z.output<typeof nodeFactsSchema> | undefined;
  let imageId = "";
  const run = async (command: ImageCommand): Promise<ImageCommandResult> => {
    const name = pods.newName();
    await using files = await sourceFiles(pods, `${name}-sources`, sources);
    const pod = await StartedPod.create(pods.order(examinerPod(pods, { name, image, command, files, hasOwnKernel })));
    try {
      ({ imageId } = await pod.running());
      const { first, stdout, diagnostics } = await printed(pods, pod, command);
      node = nodeFactsSchema.safeParse(parsed(first)).data;
      return { stdout, diagnostics, exitCode: 0, timedOut: false, reason: undefined };
    } finally {
      await pod.remove();
    }
  };
  const answer = await askImage(run, image, "");
  if (!node)
    throw new CodecellError("cell_start_failed", `the Python of ${image} sent an invalid answer`, {
      hint: "use an image for x86_64 or aarch64",
    });
  return { ...answer, ...node, imageId };
}

interface ExaminerOrder {
  readonly name: string;
  readonly image: string;
  readonly command: ImageCommand;
  readonly files: SourceFiles;
  readonly hasOwnKernel: boolean;
}

function examinerPod(pods: GatewayPods, { name, image, command, files, hasOwnKernel }: ExaminerOrder) {
  const { settings } = pods;
  const [python = "python3", ...rest] = command.command;
  const program = rest.pop() ?? "";
  const size = { cpu: "500m", memory: String(512 * 1024 * 1024), "ephemeral-storage": String(64 * 1024 * 1024) };
  return hardenedPod({
    name,
    labels: { ...labelsOf("examiner", pods.gateway), ...closedLabel },
    image,
    command: [python, ...rest, examinerPreamble(hasOwnKernel) + program],
    user: pods.newUser(),
    runtimeFilter: "default",
    resources: { limits: { ...size, cpu: "1" }, requests: { ...size, cpu: "50m", memory: String(64 * 1024 * 1024) } },
    deadlineSeconds,
    volumes: [
      { name: "kernel", configMap: { name: files.name, defaultMode: 0o444, items: files.items } },
      memoryVolume("tmp", scratchBytes),
    ],
    mounts: [
      { name: "kernel", mountPath: "/.kernel", readOnly: true },
      { name: "tmp", mountPath: "/tmp" },
    ],
    ...{ runtimeClass: settings.runtimeClass, nodeSelector: settings.nodeSelector, pullPolicy: settings.pullPolicy },
  });
}

/** The line of the preamble, and what the program printed after it. */
async function printed(pods: GatewayPods, pod: StartedPod, { timeoutMs, maxCharacters }: ImageCommand) {
  const stream = await attachTo(pods.api, pod.name);
  const timer = setTimeout(() => stream.destroy(), timeoutMs);
  const pieces: Buffer[] = [];
  let size = 0;
  let lines = 0;
  void pod.ending.then(() => setTimeout(() => stream.destroy(), 2000).unref());
  try {
    for await (const piece of stream as AsyncIterable<Buffer>) {
      pieces.push(piece);
      size += piece.length;
      for (const byte of piece) if (byte === lineEnd) lines++;
      // Both lines have arrived: the pod need not report its end.
      if (size > maxCharacters || lines >= 2) break;
    }
  } catch {
    // the connection broke; what is missing is noticed below
  } finally {
    clearTimeout(timer);
    stream.destroy();
  }
  const [first = "", ...rest] = Buffer.concat(pieces).toString("utf8").split("\n");
  return { first, stdout: rest.join("\n"), diagnostics: stream.log };
}

interface SourceFiles extends AsyncDisposable {
  readonly name: string;
  readonly items: readonly { readonly key: string; readonly path: string }[];
}

/** The kernel's sources in a ConfigMap, until the image is examined. */
async function sourceFiles(pods: GatewayPods, name: string, sources: readonly KernelSource[]): Promise<SourceFiles> {
  const { api } = pods;
  const data = Object.fromEntries(sources.map((source, at) => [`f${at}`, source.data.toString("utf8")]));
  const body = {
    ...{ apiVersion: "v1", kind: "ConfigMap", immutable: true, data },
    metadata: { name, labels: labelsOf("examiner", pods.gateway) },
  };
  const request = { verb: "create", resource: "configmaps", path: api.path("configmaps"), body } as const;
  await api.json(request).catch((error: unknown) => {
    throw api.explain(error, request);
  });
  return {
    name,
    items: sources.map((source, at) => ({ key: `f${at}`, path: `codecell_kernel/${source.name}` })),
    async [Symbol.asyncDispose]() {
      const path = api.path("configmaps", name);
      await api.json({ verb: "delete", resource: "configmaps", path }).catch((error: unknown) => {
        if (!(error instanceof ApiRefusal)) pods.logger.warn("a ConfigMap could not be deleted", { name, error });
      });
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
