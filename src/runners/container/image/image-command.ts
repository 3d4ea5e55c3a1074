import type { ImageCommand, ImageCommandResult, RunInImage } from "../../images/run-in-image.ts";
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

const scratchBytes = 16 * 1024 * 1024;

/** The parts of a container that examines an image. */
export interface ImageContainerParts {
  readonly engine: Engine;
  /** the runtime of cells; the image is untrusted, and its programs already run here */
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

/** Runs commands in an image, each in a container that can write only to a small tmpfs. */
export function containerForImage(parts: ImageContainerParts): RunInImage {
  return (command) => printed(parts, command);
}

/** Pure: the Engine API request for the container that examines an image. */
export function imageCommandSpec(
  request: Omit<ImageContainerParts, "removals" | "name">,
  { command, kernelDirectory }: Pick<ImageCommand, "command" | "kernelDirectory">,
) {
  const { engine, image, user, runtime, hasOwnKernel } = request;
  const memoryFiles = {
    "/tmp": `rw,noexec,nosuid,nodev,size=${scratchBytes},mode=1777${engine.kind === "podman" ? ",notmpcopyup" : ""}`,
    // cells have a mount here, so a volume of the image may be below it
    "/workspace": `rw,noexec,nosuid,nodev,size=4096,mode=555${engine.kind === "podman" ? ",notmpcopyup" : ""}`,
    ...closedMemoryFiles(engine.kind),
  };
  const memoryBytes = 512 * 1024 * 1024 + (hasOwnKernel ? ownKernelBytes : 0);
  return {
    Image: image.id,
    Entrypoint: command,
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
      PidsLimit: 64 + (hasOwnKernel ? ownKernelThreads(16) : 0),
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

async function printed(parts: ImageContainerParts, command: ImageCommand): Promise<ImageCommandResult> {
  const { engine, name, removals } = parts;
  const { client } = engine;
  const container = await startContainer({ client, spec: imageCommandSpec(parts, command), name, removals });
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    container.stream.destroy();
    void removals.end(client, container.id);
  }, command.timeoutMs);
  let stdout = "";
  try {
    for await (const piece of container.stream) {
      stdout += String(piece);
      if (stdout.length > command.maxCharacters) break;
    }
  } catch {
    // the stream broke; the container's exit has the reason
  } finally {
    clearTimeout(timer);
    container.stream.destroy();
    await removals.remove(client, container.id);
  }
  const { diagnostics, code, reason } = await container.exited;
  return { stdout, diagnostics, exitCode: code, timedOut, reason };
}
