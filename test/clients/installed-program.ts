import { cp, mkdir, readFile, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { root } from "../e2e/codecell-process.ts";

/** Makes a directory of a program that has codecell and the Agent SDK installed. */
export async function installProgram(directory: string): Promise<void> {
  const modules = join(directory, "node_modules");
  // a copy: from a link, Node would look for the SDK beside the sources
  for (const name of ["package.json", "dist/bundled", "dist/runners/wasm/guest", "python/codecell_kernel"]) {
    await cp(join(root, name), join(modules, "codecell", name), { recursive: true });
  }
  const { dependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const links = [
    ...Object.keys(dependencies).map((name) => [name, join(root, "node_modules", name)]),
    ["@anthropic-ai/claude-agent-sdk", join(import.meta.dirname, "node_modules/@anthropic-ai/claude-agent-sdk")],
  ];
  for (const [name = "", target = ""] of links) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(target, join(modules, name));
  }
}
