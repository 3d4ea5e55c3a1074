import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { CodecellError } from "../../lib/errors.ts";
import type { BuildOutcome, BuildWheel, WheelBuild } from "../../packages/sdists/build-wheel.ts";
import { formatDuration, formatSize } from "../../policy/format-units.ts";
import type { Policy } from "../../policy/schema.ts";
import type { SandboxRunner } from "../../runners/runner.ts";
import type { CodeSession, CodeSessionFiles } from "../code-session.ts";
import type { RunResult } from "../runs/run.ts";
import { buildPolicy, type OpenBuildCell } from "./build-cell.ts";
import { buildProgram, needsName, sdistName, wheelDirectory } from "./build-program.ts";

const mostNeedsBytes = 64 * 1024;

/** Builds wheels in cells of a runner, a new one for each build, under the strictest policy. */
export function buildInCells(openCell: OpenBuildCell, runner: SandboxRunner, policy: Policy): BuildWheel {
  return async (build) => {
    const packages = build.requirements;
    await using cell = await openCell({ policy: buildPolicy(policy, packages), runner, packages });
    return await buildIn(await cell.session(), build, policy);
  };
}

async function buildIn(session: CodeSession, build: WheelBuild, policy: Policy): Promise<BuildOutcome> {
  const { sdist, backend, backendPath, mayAsk, signal } = build;
  try {
    await session.upload(sdistName, createReadStream(sdist.path), signal);
  } catch (error) {
    if (!(error instanceof CodecellError) || error.code !== "too_large") throw error;
    return failed(`it does not fit into proc.disk (${formatSize(policy.proc.diskBytes)})`, "", "raise proc.disk");
  }
  const result = await session.run(buildProgram, {
    args: [JSON.stringify([backend, backendPath, mayAsk])],
    ...(signal ? { signal } : {}),
  });
  signal?.throwIfAborted();
  if (result.status !== "ok" || (result.exitCode ?? 0) !== 0) return explained(result, policy);
  const files = await session.files();
  const needs = mayAsk ? await readNeeds(files) : undefined;
  if (needs) return { kind: "needs", requirements: needs };
  return takeWheel(files, build, result);
}

function failed(why: string, output: string, hint?: string): BuildOutcome {
  return { kind: "failed", why, output, ...(hint === undefined ? {} : { hint }) };
}

function explained(result: RunResult, { proc }: Policy): BuildOutcome {
  const output = outputOf(result);
  switch (result.status) {
    case "timeout":
      return failed(`it timed out after ${formatDuration(proc.timeoutMs)}`, output, "raise proc.timeout");
    case "out_of_memory":
      return failed(`it needs more memory than ${formatSize(proc.memoryBytes)}`, output, "raise proc.memory");
    case "output_limit":
      return failed(`it printed more than ${formatSize(proc.outputBytes)}`, output, "raise proc.output");
    default:
      return failed("its build failed in the cell, which has no network and no files of the host", output);
  }
}

function outputOf({ stdout, stderr, error }: RunResult): string {
  const traceback = error === undefined ? "" : (error.traceback ?? `${error.name}: ${error.message}`);
  return [stdout, stderr, stderr.includes(traceback) ? "" : traceback].join("\n");
}

/** Undefined: the backend asked for nothing. The file is whatever the package wrote. */
async function readNeeds(files: CodeSessionFiles): Promise<string[] | undefined> {
  const found = await files.list({ prefix: needsName, limit: 10 });
  if (!found.files.some(({ path }) => path === needsName)) return undefined;
  const { data } = await files.read(needsName, { maxBytes: mostNeedsBytes });
  const needs: unknown = parsed(new TextDecoder().decode(data));
  return Array.isArray(needs) && needs.every((need) => typeof need === "string") ? needs : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function takeWheel(files: CodeSessionFiles, build: WheelBuild, result: RunResult): Promise<BuildOutcome> {
  const prefix = `${wheelDirectory}/`;
  const found = (await files.list({ prefix, limit: 10 })).files;
  const [wheel, ...others] = found;
  if (!wheel || others.length > 0) return failed("its build did not leave one wheel", outputOf(result));
  if (wheel.size > build.maxBytes) return failed(`its wheel is larger than ${formatSize(build.maxBytes)}`, "");
  await using source = await files.stream(wheel.path);
  await using target = await open(build.into, "wx", 0o600);
  let bytes = 0;
  for await (const piece of source.data) {
    bytes += piece.byteLength;
    // The attack: a file that grows while it is read.
    if (bytes > build.maxBytes) return failed(`its wheel is larger than ${formatSize(build.maxBytes)}`, "");
    await target.writeFile(piece);
  }
  await target.datasync();
  return { kind: "built", fileName: wheel.path.slice(prefix.length) };
}
