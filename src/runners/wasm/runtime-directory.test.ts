import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { PackageFiles } from "./package-files.ts";
import { prepareRuntimeDirectory } from "./runtime-directory.ts";

let place: string;
beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), "codecell-wasm-"));
});
afterEach(() => rm(place, { recursive: true, force: true }));

/** An installation, with a line for each file that a cell needs. */
async function install(name: string, worker = "pass\n"): Promise<PackageFiles> {
  const at = (...parts: string[]) => join(place, name, ...parts);
  for (const folder of ["kernel/shared", "kernel/prompt", "kernel/worker", "guest", "pyodide"]) {
    await mkdir(at(folder), { recursive: true });
  }
  await writeFile(at("kernel", "__init__.py"), "");
  await writeFile(at("kernel", "worker", "main.py"), worker);
  await writeFile(at("guest", "main.js"), "export {};\n");
  for (const file of ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"]) {
    await writeFile(at("pyodide", file), file);
  }
  return { kernel: at("kernel"), guest: at("guest"), pyodide: at("pyodide"), pyodideVersion: "1.0.0" };
}

test("two installations of the same version share one runtime directory, wherever they are", async () => {
  const root = join(place, "root");
  const first = await prepareRuntimeDirectory(root, await install("here"));
  expect(await prepareRuntimeDirectory(root, await install("some/where/else"))).toBe(first);
  expect(await readFile(join(first, "python/codecell_kernel/worker/main.py"), "utf8")).toBe("pass\n");
  expect(await readFile(join(first, "guest/main.js"), "utf8")).toBe("export {};\n");
});

test("an installation with other files has a runtime directory of its own", async () => {
  const root = join(place, "root");
  const first = await prepareRuntimeDirectory(root, await install("here"));
  const changed = await prepareRuntimeDirectory(root, await install("there", "import sys\n"));
  expect(basename(changed)).not.toBe(basename(first));
  expect(await readFile(join(changed, "python/codecell_kernel/worker/main.py"), "utf8")).toBe("import sys\n");
});
