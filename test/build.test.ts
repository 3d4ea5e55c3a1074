import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

test("a build removes the output of a deleted source file", async () => {
  const project = await mkdtemp(join(tmpdir(), "codecell-build-"));
  try {
    for (const part of ["package.json", "tsconfig.json", "tsconfig.build.json", "scripts"]) {
      await cp(join(root, part), join(project, part), { recursive: true });
    }
    await symlink(join(root, "node_modules"), join(project, "node_modules"));
    await mkdir(join(project, "src"));
    await writeFile(join(project, "src", "index.ts"), "export const kept = 1;\n");
    await mkdir(join(project, "dist", "sessions"), { recursive: true });
    await writeFile(join(project, "dist", "sessions", "gone.js"), "");

    await promisify(execFile)("npm", ["run", "build"], { cwd: project });

    expect((await readdir(join(project, "dist"))).sort()).toEqual(["index.d.ts", "index.js", "index.js.map"]);
  } finally {
    await rm(project, { recursive: true });
  }
});
