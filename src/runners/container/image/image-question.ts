import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { mountFields } from "../cell/bind-mounts.ts";
import { startContainer } from "../cell/container.ts";
import {
  closedMemoryFiles,
  hostLabels,
  inheritedLimits,
  ownKernelBytes,
  ownKernelThreads,
} from "../cell/container-spec.ts";
import type { Removals } from "../cell/removals.ts";
import type { Engine } from "../engine/engine.ts";
import type { ImageInEngine } from "./image-list.ts";
import { coveredVolumes } from "./image-volumes.ts";

export const oldestMinor = 9;
const answerMs = 60_000;
const maxAnswerCharacters = 4 * 1024 * 1024;
const scratchBytes = 16 * 1024 * 1024;

/** Asks the image's Python what it is, and to compile the kernel. What it compiled comes with the answer. */
const question = `import base64, json, sys
found = {"executable": sys.executable, "version": list(sys.version_info[:3]), "path": [p for p in sys.path if p], "bundle": ""}
if sys.version_info >= (3, ${oldestMinor}):
    sys.path.insert(0, "/.kernel")
    from codecell_kernel.bundle import bundle
    found["bundle"] = base64.b64encode(bundle("/.kernel/codecell_kernel")).decode()
print(json.dumps(found))`;

export const imageFactsSchema = z.object({
  executable: z.string().startsWith("/"),
  version: z.tuple([z.int(), z.int(), z.int()]),
  path: z.array(z.string().startsWith("/")).max(64),
});
const answerSchema = imageFactsSchema.extend({
  /** the kernel as bytecode, in base64 */
  bundle: z.base64(),
});

export type ImageAnswer = z.output<typeof answerSchema>;

export interface ImageQuestion {
  readonly engine: Engine;
  /** the runtime of the cells: an image that nobody trusts runs its own programs here already */
  readonly runtime: string | undefined;
  readonly hasOwnKernel: boolean;
  readonly image: ImageInEngine;
  readonly user: { readonly uid: number; readonly gid: number };
  readonly labels: Readonly<Record<string, string>>;
  readonly name: string;
  readonly processLimit: number | undefined;
  readonly emptyDirectory: string;
  readonly removals: Removals;
}

/** Runs the image's Python once, in a container that can write to nothing but a little memory. */
export async function askImage(request: ImageQuestion, kernelDirectory: string): Promise<ImageAnswer> {
  return checked(await printed(request, questionSpec(request, kernelDirectory)), request.image.name);
}

/** Pure: the container that examines an image, as the Engine API takes it. */
export function questionSpec(request: Omit<ImageQuestion, "removals" | "name">, kernelDirectory: string) {
  const { engine, image, user, runtime, hasOwnKernel } = request;
  const memoryFiles = {
    "/tmp": `rw,noexec,nosuid,nodev,size=${scratchBytes},mode=1777${engine.kind === "podman" ? ",notmpcopyup" : ""}`,
    // a cell has something of its own there, so an image's volume may be below it
    "/workspace": `rw,noexec,nosuid,nodev,size=4096,mode=555${engine.kind === "podman" ? ",notmpcopyup" : ""}`,
    ...closedMemoryFiles(engine.kind),
  };
  const memoryBytes = 512 * 1024 * 1024 + (hasOwnKernel ? ownKernelBytes : 0);
  return {
    Image: image.id,
    Entrypoint: ["python3", "-I", "-c", question],
    User: `${user.uid}:${user.gid}`,
    WorkingDir: "/",
    Labels: request.labels,
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    StopSignal: "SIGKILL",
    NetworkDisabled: true,
    Healthcheck: { Test: ["NONE"] },
    HostConfig: {
      ...(runtime === undefined ? {} : { Runtime: runtime }),
      ...{ AutoRemove: true, NetworkMode: "none", ReadonlyRootfs: true, CapDrop: ["ALL"], IpcMode: "private" },
      ...(engine.remapsUsers ? { UsernsMode: "host" } : {}),
      SecurityOpt: ["no-new-privileges", ...hostLabels(engine.labelsFiles)],
      PidsLimit: 64 + (hasOwnKernel ? ownKernelThreads : 0),
      Ulimits: [{ Name: "nofile", Soft: 1024, Hard: 1024 }, ...inheritedLimits(request.processLimit)],
      Memory: memoryBytes,
      MemorySwap: memoryBytes,
      NanoCpus: 1e9,
      ShmSize: scratchBytes,
      Tmpfs: memoryFiles,
      ...mountFields(engine.kind, [
        { source: kernelDirectory, target: "/.kernel", readOnly: true },
        ...coveredVolumes(image, request.emptyDirectory, ["/.kernel", ...Object.keys(memoryFiles)]),
      ]),
      LogConfig: { Type: "none", Config: {} },
    },
  };
}

async function printed({ engine, name, removals, image }: ImageQuestion, spec: unknown): Promise<string> {
  const { client } = engine;
  const container = await startContainer({ client, spec, name, removals });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    container.stream.destroy();
    void removals.end(client, container.id);
  }, answerMs);
  let text = "";
  try {
    for await (const piece of container.stream) {
      text += String(piece);
      if (text.length > maxAnswerCharacters) break;
    }
  } catch {
    // the stream broke: how the container ended says why
  } finally {
    clearTimeout(timer);
    container.stream.destroy();
    await removals.remove(client, container.id);
  }
  const { diagnostics, code, reason } = await container.exited;
  if (text.trim() === "") {
    if (reason !== undefined && reason.code !== "cell_lost") throw reason; // the engine's doing, not the image's
    const ended = isLate ? `it did not answer within ${answerMs / 1000} s` : `exit code ${code}`;
    const said = diagnostics.trim().split("\n").at(-1)?.slice(0, 300) || ended;
    throw new CodecellError("cell_start_failed", `the image ${image.name} has no Python that starts: ${said}`, {
      hint: "name an image with Python 3.9 or newer in kernel.image",
      cause: reason,
      details: { diagnostics },
    });
  }
  return text;
}

function checked(answer: string, image: string): ImageAnswer {
  const found = answerSchema.safeParse(parsed(answer));
  if (!found.success) {
    throw new CodecellError("cell_start_failed", `the Python of ${image} answered with something else`, {
      hint: "name another image in kernel.image",
    });
  }
  const [major, minor, micro] = found.data.version;
  if (major !== 3 || minor < oldestMinor) {
    throw new CodecellError("cell_start_failed", `${image} has Python ${major}.${minor}.${micro}, and cells need 3.9`, {
      hint: "name an image with Python 3.9 or newer in kernel.image",
    });
  }
  return found.data;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
