import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { killAfter } from "../../lib/kill-after.ts";
import type { ChildIdentity } from "./child-identity.ts";
import { type BubblewrapSupport, bubblewrapArguments, insideNode } from "./command.ts";

/** Long, because a timeout on a busy machine would remove the second barrier from every cell. */
const probeTimeoutMs = 15_000;

/** Tests bubblewrap by running Node in it, because an installed bubblewrap does not work without user namespaces. */
export async function probeBubblewrap(
  node: string,
  identity: ChildIdentity,
  searchPath: string,
): Promise<BubblewrapSupport | undefined> {
  if (process.platform !== "linux") return undefined;
  const program = searchPath
    .split(delimiter)
    .filter((directory) => directory.startsWith("/"))
    .map((directory) => join(directory, "bwrap"))
    .find((path) => existsSync(path));
  if (program === undefined) return undefined;
  const libraries = nodeLibraries();
  for (const disablesNamespaces of [true, false]) {
    const support = { program, libraries, disablesNamespaces };
    if (await startsNode(support, node, identity)) return support;
  }
  return undefined;
}

function nodeLibraries(): string[] {
  const report = process.report.getReport() as unknown as { sharedObjects: string[] };
  return report.sharedObjects.filter((path) => path.startsWith("/") && !path.endsWith(".node"));
}

function startsNode(support: BubblewrapSupport, node: string, identity: ChildIdentity): Promise<boolean> {
  const [program = "", ...flags] = bubblewrapArguments(support, { node });
  const child = spawn(program, [...flags, "--", insideNode, "--version"], {
    ...identity.spawn,
    env: {},
    cwd: "/",
    stdio: ["ignore", "ignore", "ignore"],
    detached: true, // Ctrl-C in the terminal could leave an incomplete jail behind
  });
  killAfter(child, probeTimeoutMs, "SIGKILL");
  return new Promise((resolve) => {
    child.on("error", () => resolve(false));
    child.on("close", (code) => resolve(code === 0));
  });
}
