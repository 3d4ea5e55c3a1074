import { execFile, spawn } from "node:child_process";
import { realpath } from "node:fs/promises";
import { promisify } from "node:util";
import type { EngineClient } from "../../src/runners/container/engine/engine-client.ts";

const python = "/usr/bin/python3";
/** bash and nothing that it would call, a shell of another kind, and something that goes on */
const usual: readonly string[] = ["/bin/bash", "/bin/sh", "/bin/sleep"];
const importMs = 120_000;

export interface HostPythonParts {
  readonly programs?: readonly string[];
  /** a directory of the host whose content the image has at its root */
  readonly overlay?: string;
  /** instructions as a Dockerfile has them */
  readonly changes?: readonly string[];
}

/**
 * Gives an engine a small image: this machine's own Python, its library and what they load, and some programs beside it.
 * Nothing is downloaded.
 */
export async function importHostPython(
  client: EngineClient,
  name: string,
  { programs = usual, overlay, changes = [] }: HostPythonParts = {},
): Promise<void> {
  const run = promisify(execFile);
  const library = (await run(python, ["-I", "-c", "import os; print(os.path.dirname(os.__file__))"])).stdout.trim();
  const modules = (await run("find", [`${library}/lib-dynload`, "-name", "*.so"])).stdout.trim().split("\n");
  const { stdout } = await run("ldd", [await realpath(python), ...programs, ...modules]);
  const libraries = new Set([...stdout.matchAll(/(?:=> |^\s+)(\/\S+) \(0x/gm)].map((match) => match[1] as string));
  const unused = ["test", "__pycache__", "dist-packages", "idlelib", "ensurepip", "config-3*"];
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
  const [repo, tag] = name.split(":");
  await client.bytes({
    ...{
      method: "POST",
      path: "/images/create",
      query: { fromSrc: "-", repo, tag, changes: changes.join("\n") || undefined },
    },
    ...{ bodyStream: tar.stdout, bodyType: "application/x-tar", timeoutMs: importMs },
  });
}
