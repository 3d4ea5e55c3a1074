import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** The modules that a build bundles: what the package exports, and the programs that it starts. */
const entries = [
  ...Object.values<{ types?: string }>(exports).flatMap(
    ({ types }) => /^\.\/dist\/(.*)\.d\.ts$/.exec(types ?? "")?.[1] ?? [],
  ),
  "egress/process/proxy-process",
];
/** The command line, which is bundled as scripts. */
const scripts = ["surfaces/cli/main", "surfaces/cli/serve/mcp-entrance", "surfaces/cli/launch/launch"];

/** What the build asks for the list of tools, and for that of commands. */
const listing = {
  "service/tools/toolset-name": 'export const toolsetNames = ["all"];\n',
  "surfaces/mcp/front/listing":
    "export const listingFile = (one: { structured: boolean }) => ['listing', one.structured, 'json'].join('.');\n",
  "surfaces/mcp/make-listing": "export const makeListing = async () => ({});\n",
  "surfaces/cli/commands": "export const commands = [];\n",
  "surfaces/cli/completion/command-list":
    "export const commandListFile = 'commands.json';\nexport const makeCommandList = async () => [];\n",
};

test("a build removes the output of a deleted source file", async () => {
  const project = await mkdtemp(join(tmpdir(), "codecell-build-"));
  try {
    const copied = ["package.json", "tsconfig.json", "tsconfig.build.json", "scripts", "dashboard/vite.config.ts"];
    for (const part of copied) {
      await cp(join(root, part), join(project, part), { recursive: true });
    }
    await symlink(join(root, "node_modules"), join(project, "node_modules"));
    for (const entry of [...entries, ...scripts]) {
      await mkdir(dirname(join(project, "src", entry)), { recursive: true });
      await writeFile(join(project, "src", `${entry}.ts`), `export const kept = ${JSON.stringify(entry)};\n`);
    }
    for (const [name, text] of Object.entries(listing)) {
      await mkdir(dirname(join(project, "src", name)), { recursive: true });
      await writeFile(join(project, "src", `${name}.ts`), text);
    }
    await writeFile(join(project, "dashboard", "index.html"), "<!doctype html>\n");
    for (const place of ["dist/sessions", "dist/bundled/chunks", "dist/dashboard/assets"]) {
      await mkdir(join(project, place), { recursive: true });
      await writeFile(join(project, place, "gone.js"), "");
    }

    await promisify(execFile)("npm", ["run", "build"], { cwd: project });

    const made = await readdir(join(project, "dist"), { recursive: true, withFileTypes: true });
    const names = made
      .filter((file) => file.isFile())
      .map(({ parentPath, name }) => relative(join(project, "dist"), join(parentPath, name)));
    expect(names.filter((name) => name.endsWith("gone.js"))).toEqual([]);
    // the bundler decides how it divides the code, and an entry that is only a reference to a chunk has no map
    const isFree = (name: string) => /^bundled\/(?:chunks\/|scripts\/|.*\.map$)/.test(name);
    const compiled = ["d.ts", "js", "js.map"];
    expect(names.filter((name) => !isFree(name)).sort()).toEqual(
      [
        ...[...entries, ...scripts, ...Object.keys(listing)].flatMap((entry) =>
          compiled.map((kind) => `${entry}.${kind}`),
        ),
        ...entries.map((entry) => `bundled/${entry}.js`),
        ...scripts.map((entry) => `bundled/${entry}.cjs`),
        ...["dashboard/index.html", "dashboard/LICENSES.txt"],
        ...["bundled/LICENSES.txt", "bundled/commands.json", "bundled/listing.false.json", "bundled/listing.true.json"],
      ].sort(),
    );
  } finally {
    await rm(project, { recursive: true });
  }
});
