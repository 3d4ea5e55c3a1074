// npm run build:mcpb [-- --out DIR] [-- --json]: packs codecell-<version>.mcpb, an MCP bundle for desktop clients.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { zip } from "./zip.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values } = parseArgs({ options: { out: { type: "string" }, json: { type: "boolean" } } });
const json = async (path) => JSON.parse(await readFile(join(root, path), "utf8"));

const { version } = await json("package.json");
const manifest = await json("mcpb/manifest.json");
if (manifest.version !== version) {
  console.error(
    `mcpb/manifest.json has version ${manifest.version}, but package.json has ${version}: give both the same version`,
  );
  process.exit(1);
}
if (!values.json) console.error("packing …");
const places = [
  "bin",
  "dist/bundled",
  "dist/runners/wasm/guest",
  "python/codecell_kernel",
  "images",
  ...(await productionPackages()),
];
const names = ["package.json", "LICENSE", "README.md", ...(await Promise.all(places.map(filesBelow))).flat()].sort();
const files = await Promise.all(names.map(async (name) => ({ name, data: await readFile(join(root, name)) })));
const archive = zip([
  { name: "manifest.json", data: Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`) },
  ...files.map((file) => ({ ...file, isExecutable: file.name.startsWith("bin/") })),
]);
const path = join(resolve(values.out ?? root), `codecell-${version}.mcpb`);
await mkdir(dirname(path), { recursive: true });
await writeFile(path, archive);
const facts = {
  ...{ path, bytes: archive.length, files: files.length + 1 },
  sha256: createHash("sha256").update(archive).digest("hex"), // registries require it with a bundle
};
const mebibytes = (facts.bytes / 2 ** 20).toFixed(1);
console.log(
  values.json ? JSON.stringify(facts) : `${path}: ${facts.files} files, ${mebibytes} MiB\nsha256 ${facts.sha256}`,
);

/** The installed packages that the published package needs, from the lock file. */
async function productionPackages() {
  const { packages } = await json("package-lock.json");
  return Object.entries(packages)
    .filter(([place, { dev, optional }]) => place !== "" && !dev && !optional && !place.includes("/@types/"))
    .map(([place]) => place);
}

/** All files in a directory that a running server needs, without types, source maps and caches. */
async function filesBelow(directory) {
  const entries = await readdir(join(root, directory), { withFileTypes: true });
  const found = await Promise.all(
    entries.map((entry) => {
      const path = `${directory}/${entry.name}`;
      if (entry.isDirectory()) return ["node_modules", "__pycache__"].includes(entry.name) ? [] : filesBelow(path);
      return entry.isFile() && !isForDevelopers(entry.name) ? [path] : [];
    }),
  );
  return found.flat();
}

function isForDevelopers(name) {
  if (/^(?:licen[cs]e|notice)/i.test(name)) return false;
  return /\.(?:map|[cm]?ts|html|md|pyc|tsbuildinfo)$/.test(name);
}
