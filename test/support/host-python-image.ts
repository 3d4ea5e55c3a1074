import { execFile, spawn } from "node:child_process";
import { realpath } from "node:fs/promises";
import { promisify } from "node:util";
import type { EngineClient } from "../../src/runners/container/engine/engine-client.ts";

const python = "/usr/bin/python3";
/** bash without the programs that it would call, another shell, and a program that keeps running */
const usual: readonly string[] = ["/bin/bash", "/bin/sh", "/bin/sleep"];
const importMs = 120_000;

export interface HostPythonParts {
  readonly programs?: readonly string[];
  /** true: with CPython's own tests, as far as this machine has them */
  readonly hasTests?: boolean;
  /** a host directory whose content goes to the image's root */
  readonly overlay?: string;
  /** Dockerfile instructions */
  readonly changes?: readonly string[];
}

/**
 * Imports a small image into an engine: this machine's Python with its library and shared objects, and some programs.
 * Nothing is downloaded.
 */
export async function importHostPython(
  client: EngineClient,
  name: string,
  { programs = usual, hasTests = false, overlay, changes = [] }: HostPythonParts = {},
): Promise<void> {
  const run = promisify(execFile);
  const library = (await run(python, ["-I", "-c", "import os; print(os.path.dirname(os.__file__))"])).stdout.trim();
  const modules = (await run("find", [`${library}/lib-dynload`, "-name", "*.so"])).stdout.trim().split("\n");
  const { stdout } = await run("ldd", [await realpath(python), ...programs, ...modules]);
  const libraries = new Set([...stdout.matchAll(/(?:=> |^\s+)(\/\S+) \(0x/gm)].map((match) => match[1] as string));
  const unused = [...(hasTests ? [] : ["test"]), "__pycache__", "dist-packages", "idlelib", "ensurepip", "config-3*"];
  const tar = spawn(
    "tar",
    [
      ...["--create", "--dereference", "--ignore-failed-read", "--directory", "/"],
      ...unused.map((part) => `--exclude=${part}`),
      ...[python, ...programs, library, ...libraries].map((path) => path.slice(1)),
      ...(overlay === undefined ? [] : ["--directory", overlay, "."]),
    ],
    { stdio: ["ignore", "pipe", "ignore"] },
  );
  const query = new URLSearchParams({ fromSrc: "-", repo: name }); // with its tag: Podman 4 ignores one that is separate
  for (const change of changes) query.append("changes", change); // Podman takes several lines for one instruction
  await client.bytes({
    ...{ method: "POST", path: `/images/create?${query}` },
    ...{ bodyStream: tar.stdout, bodyType: "application/x-tar", timeoutMs: importMs },
  });
}
