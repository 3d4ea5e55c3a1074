import { createHash } from "node:crypto";
import { chmod, mkdtemp, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundleName } from "../kernel-bootstrap.ts";
import { type KernelSource, kernelSources, writeKernelSources } from "../kernel-sources.ts";
import { removeOldKernels } from "../linux/kernel-files.ts";
import { askImage, imageFactsSchema } from "./image-question.ts";
import type { ExaminedImage, RunInImage } from "./run-in-image.ts";

type Sources = readonly KernelSource[];

/** Increase it when the content of a kernel's directory changes. */
const layout = 4;

/** An image's interpreter, and the kernel compiled for it. */
export interface ImageKernel {
  readonly python: string;
  readonly version: readonly [number, number, number];
  /** import directories inside the image */
  readonly path: readonly string[];
  /** host directory that cells see at /.kernel */
  readonly directory: string;
  /** its C library, such as `glibc 2.36`; null: unknown */
  readonly libc?: string | null | undefined;
}

export interface ImageKernelRequest {
  readonly image: ExaminedImage;
  /** the uid that reads the kernel's files in the cell */
  readonly uid: number;
  readonly run: RunInImage;
  readonly runtimeDir: string;
  /** binary system call filters that cells read, by name */
  readonly filters: Readonly<Record<string, Buffer>>;
}

const answerFile = "image.json";

/** Examines an image once for all processes of this user. Any image with Python 3.9 or newer works. */
export async function prepareImageKernel(request: ImageKernelRequest): Promise<ImageKernel> {
  const sources = kernelSources();
  const directory = join(request.runtimeDir, `kernel-${kernelHash(request, sources)}`);
  const {
    executable: python,
    version,
    path,
    libc,
  } = (await knownFacts(directory)) ?? (await examine(request, sources, directory));
  return { python, version, path, directory, libc };
}

async function knownFacts(directory: string) {
  const text = await readFile(join(directory, answerFile), "utf8").catch(() => "");
  const known = imageFactsSchema.safeParse(parsed(text));
  if (!known.success) return undefined;
  const now = new Date();
  await utimes(directory, now, now).catch(() => {}); // marks the kernel as used, because old unused kernels are removed
  return known.data;
}

/** A hash of everything that the directory's content depends on. An image that changes gets another id. */
function kernelHash({ image, uid, filters }: ImageKernelRequest, sources: Sources): string {
  const hash = createHash("sha256").update(JSON.stringify([image.id, uid, layout]));
  for (const { name, data } of sources) hash.update(`\0${name}\0`).update(data);
  for (const [name, data] of Object.entries(filters)) hash.update(`\0${name}\0`).update(data);
  return hash.digest("hex").slice(0, 16);
}

async function examine(request: ImageKernelRequest, sources: Sources, directory: string) {
  const draft = await mkdtemp(join(request.runtimeDir, "draft-"));
  try {
    await chmod(draft, 0o711);
    const files = join(draft, "files");
    await writeKernelSources(join(files, "codecell_kernel"), sources);
    for (const [name, data] of Object.entries(request.filters))
      await writeFile(join(files, name), data, { mode: 0o644 });
    const { bundle, ...found } = await askImage(request.run, request.image.name, files);
    // Written by the host: a program of the image with a writable host directory could fill the disk.
    await writeFile(join(files, bundleName), bundle, { encoding: "base64", mode: 0o644 });
    await writeFile(join(files, answerFile), JSON.stringify(found), { mode: 0o644 });
    await rename(files, directory).catch(async (error: unknown) => {
      if (!(await stat(directory).catch(() => undefined))) throw error;
    });
    await removeOldKernels(request.runtimeDir);
    return found;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
