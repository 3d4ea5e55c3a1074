import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import { kernelSources } from "../kernel-sources.ts";
import { startContainer } from "./container.ts";
import { inheritedLimits } from "./container-spec.ts";
import type { Engine } from "./engine.ts";
import type { Removals } from "./removals.ts";

type Sources = Awaited<ReturnType<typeof kernelSources>>;

const oldestMinor = 9;
const compileMs = 60_000;

/** Asks the image's Python what it is, and compiles the kernel for it into the one directory that it can write. */
const question = `import compileall, json, sys
found = {"executable": sys.executable, "version": list(sys.version_info[:3]), "path": [p for p in sys.path if p]}
if sys.version_info >= (3, ${oldestMinor}):
    import py_compile
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    found["compiled"] = bool(compileall.compile_dir("/.kernel", quiet=2, invalidation_mode=mode))
print(json.dumps(found))`;

const answerSchema = z.object({
  executable: z.string().startsWith("/"),
  version: z.tuple([z.int(), z.int(), z.int()]),
  path: z.array(z.string().startsWith("/")).max(64),
  compiled: z.boolean().optional(),
});

/** An image's interpreter, and the kernel as compiled for it. */
export interface ImageKernel {
  readonly imageId: string;
  readonly python: string;
  readonly version: readonly [number, number, number];
  /** import directories inside the image */
  readonly path: readonly string[];
  /** host directory that cells see at /.kernel */
  readonly directory: string;
}

export interface ImageKernelRequest {
  readonly engine: Engine;
  readonly image: string;
  readonly imageId: string;
  readonly runtimeDir: string;
  /** binary filters that cells read, by name */
  readonly filters: Readonly<Record<string, Buffer>>;
  readonly user: { readonly uid: number; readonly gid: number };
  readonly labels: Readonly<Record<string, string>>;
  readonly name: string;
  readonly processLimit: number | undefined;
  readonly removals: Removals;
}

const answerFile = "image.json";

/** Examines an image once, for every process of this user. Any image will do that has Python 3.9 or newer. */
export async function prepareImageKernel(request: ImageKernelRequest): Promise<ImageKernel> {
  const { runtimeDir, imageId } = request;
  const sources = await kernelSources();
  const directory = join(runtimeDir, `kernel-${kernelHash(request, sources)}`);
  const known = answerSchema.safeParse(parsed(await readFile(join(directory, answerFile), "utf8").catch(() => "")));
  const { executable: python, version, path } = known.success ? known.data : await examine(request, sources, directory);
  return { imageId, python, version, path, directory };
}

/** Everything that the directory's content follows from: an image that is changed has another id. */
function kernelHash({ imageId, user, filters }: ImageKernelRequest, sources: Sources): string {
  const hash = createHash("sha256").update(JSON.stringify([imageId, user.uid, question]));
  for (const { name, data } of sources) hash.update(`\0${name}\0`).update(data);
  for (const [name, data] of Object.entries(filters)) hash.update(`\0${name}\0`).update(data);
  return hash.digest("hex").slice(0, 16);
}

async function examine(request: ImageKernelRequest, sources: Sources, directory: string) {
  const draft = await mkdtemp(join(request.runtimeDir, "draft-"));
  try {
    await chmod(draft, 0o711);
    const files = join(draft, "files");
    await mkdir(join(files, "codecell_kernel"), { recursive: true, mode: 0o755 });
    for (const { name, data } of sources) await writeFile(join(files, "codecell_kernel", name), data, { mode: 0o644 });
    for (const [name, data] of Object.entries(request.filters))
      await writeFile(join(files, name), data, { mode: 0o644 });
    const compiled = join(files, "codecell_kernel", "__pycache__");
    await mkdir(compiled);
    await chmod(compiled, 0o777); // the only place that the image's own program may write, and only now
    const found = checked(await ask(request, files, compiled), request.image);
    await chmod(compiled, 0o755);
    await writeFile(join(files, answerFile), JSON.stringify(found), { mode: 0o644 });
    await rename(files, directory).catch(async (error: unknown) => {
      if (!(await stat(directory).catch(() => undefined))) throw error;
    });
    return found;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function ask(request: ImageKernelRequest, files: string, compiled: string): Promise<string> {
  const { engine, image, user } = request;
  const spec = {
    Image: image,
    Entrypoint: ["python3", "-I", "-c", question],
    User: `${user.uid}:${user.gid}`,
    WorkingDir: "/",
    Labels: request.labels,
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    NetworkDisabled: true,
    HostConfig: {
      ...{ AutoRemove: true, NetworkMode: "none", ReadonlyRootfs: true, CapDrop: ["ALL"], PidsLimit: 64 },
      ...(engine.remapsUsers ? { UsernsMode: "host" } : {}),
      SecurityOpt: ["no-new-privileges"],
      Ulimits: [{ Name: "nofile", Soft: 1024, Hard: 1024 }, ...inheritedLimits(request.processLimit)],
      Memory: 512 * 1024 * 1024,
      LogConfig: { Type: "none", Config: {} },
      Mounts: [
        { Type: "bind", Source: files, Target: "/.kernel", ReadOnly: true },
        { Type: "bind", Source: compiled, Target: "/.kernel/codecell_kernel/__pycache__", ReadOnly: false },
      ],
    },
  };
  const { client } = engine;
  const { name, removals } = request;
  const container = await startContainer({ client, spec, name, removals });
  const remove = () => removals.remove(client, container.id);
  const timer = setTimeout(() => {
    container.stream.destroy();
    void removals.end(client, container.id);
  }, compileMs);
  let text = "";
  try {
    for await (const piece of container.stream) {
      text += String(piece);
      if (text.length > 64 * 1024) break;
    }
  } catch {
    // the stream broke: how the container ended says why
  } finally {
    clearTimeout(timer);
    container.stream.destroy();
    await remove();
  }
  const { diagnostics, code, reason } = await container.exited;
  if (text.trim() === "") {
    if (reason !== undefined && reason.code !== "cell_lost") throw reason; // the engine's doing, not the image's
    const said = diagnostics.trim().split("\n").at(-1)?.slice(0, 300) || reason?.message || `exit code ${code}`;
    throw new CodecellError("cell_start_failed", `the image ${image} has no Python that starts: ${said}`, {
      hint: "name an image with Python 3.9 or newer in kernel.image",
      cause: reason,
      details: { diagnostics },
    });
  }
  return text;
}

function checked(answer: string, image: string) {
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
