import { CodecellError } from "../lib/errors.ts";
import { printable } from "../policy/file/problem.ts";
import { isObeyedByHost } from "../policy/paths/deny.ts";
import type { Artifact, DescribedArtifacts, LeftOut, LeftOutReason } from "./artifact.ts";
import { artifactNameProblem } from "./artifact-name.ts";
import { cancelled, digestFile, HashCache } from "./hash-cache.ts";
import { mimeHeadBytes, mimeTypeOf } from "./mime.ts";
import type { WorkspaceFiles } from "./workspace-files.ts";

/** A change that the cell reports. Untrusted: only a hint to check this path. */
export interface ChangedFile {
  readonly path: string;
  readonly size: number;
  readonly modifiedMs: number;
}

export interface ArtifactLimits {
  /** artifacts of one run; default 100 */
  readonly maxCount?: number;
  /** size of one artifact; default 256 MiB */
  readonly maxFileBytes?: number;
  /** size of all artifacts of one run; default 1 GiB */
  readonly maxTotalBytes?: number;
  /** bytes of all artifacts of one run that were never written, as in sparse files; default 64 MiB */
  readonly maxHoleBytes?: number;
}

/** How files are described. */
export interface DescribeOptions {
  readonly run?: number;
  /** @internal keeps digests between calls */
  readonly cache?: HashCache;
  readonly signal?: AbortSignal;
}

const maxLeftOutShown = 100;
/** Holes in files up to this size are not worth a question: a run has at most a hundred artifacts. */
const smallFileBytes = 64 * 1024;

/** Checks the changes that a run reports and describes the files that exist. Reads only those files. */
export async function describeArtifacts(
  files: WorkspaceFiles,
  changed: readonly ChangedFile[],
  limits: ArtifactLimits = {},
  options: DescribeOptions = {},
): Promise<DescribedArtifacts> {
  const { maxCount = 100, maxFileBytes = 256 * 2 ** 20, maxTotalBytes = 2 ** 30, maxHoleBytes = 64 * 2 ** 20 } = limits;
  const { cache = new HashCache(), run, signal } = options;
  const artifacts: Artifact[] = [];
  const leftOut: LeftOut[] = [];
  const obeyed: LeftOut[] = [];
  const seen = new Set<string>();
  let leftOutCount = 0;
  let totalBytes = 0;
  let holeBytes = 0;
  const leave = (name: unknown, reason: LeftOutReason, message: string) => {
    leftOutCount++;
    // The attack: a hundred harmless names hide a git hook.
    const list = isObeyedByHost(String(name)) ? obeyed : leftOut;
    if (list.length < maxLeftOutShown) list.push({ name: printable(String(name), 200), reason, message });
  };

  for (const { path } of changed) {
    if (signal?.aborted) throw cancelled(signal);
    const problem = artifactNameProblem(path);
    if (problem !== undefined) leave(path, "bad_name", problem);
    if (problem !== undefined || seen.has(path)) continue;
    seen.add(path);
    const tooMany = artifacts.length >= maxCount ? `a run can have at most ${maxCount} artifacts` : undefined;
    // A hook is opened all the same: whether it is refused by name must not depend on what was written before it.
    if (tooMany !== undefined && !isObeyedByHost(path)) {
      leave(path, "count_limit", tooMany);
      continue;
    }
    try {
      await using file = await files.open(path);
      const holes = file.size > smallFileBytes ? ((await file.holeBytes?.()) ?? 0) : 0;
      if (tooMany !== undefined) leave(path, "count_limit", tooMany);
      else if (file.size > maxFileBytes) {
        leave(path, "too_large", `it has ${file.size} bytes; an artifact can have at most ${maxFileBytes}`);
      } else if (totalBytes + file.size > maxTotalBytes) {
        leave(path, "total_limit", `the artifacts of a run can have at most ${maxTotalBytes} bytes in total`);
      } else if (holeBytes + holes > maxHoleBytes && cache.get(file) === undefined) {
        // The attack: sparse files cost a program nothing, but to hash a gigabyte of them takes the host seconds.
        const message = `it is a sparse file: ${holes} of its ${file.size} bytes were never written, and the artifacts of a run can have at most ${maxHoleBytes} such bytes`;
        leave(path, "too_large", message);
      } else {
        holeBytes += holes;
        // Counted even if it changes while it is read. The attack: a program that makes us read without limit.
        totalBytes += file.size;
        const known = cache.get(file);
        const digest = known ?? (await digestFile(file, mimeHeadBytes, signal));
        if (digest === undefined) {
          leave(path, "changing", "it changed while it was being read");
          continue;
        }
        if (known === undefined) cache.set(file, digest);
        const { size, modifiedMs } = file;
        const mimeType = mimeTypeOf(path, digest.head);
        const { sha256 } = digest;
        artifacts.push({ name: path, size, mimeType, sha256, modifiedMs, ...(run === undefined ? {} : { run }) });
      }
    } catch (error) {
      if (!(error instanceof CodecellError) || error.code === "session_closed" || error.code === "aborted") throw error;
      leave(path, error.code === "file_missing" ? "missing" : "refused", error.message);
    }
  }
  return { artifacts, leftOut: [...obeyed, ...leftOut].slice(0, maxLeftOutShown), leftOutCount };
}
