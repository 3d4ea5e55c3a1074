// The images of the test cluster. No registry is asked: Debian's debootstrap makes one root file system, and both images have it
// as their only layer, so that a node stores it once.
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "./command.js";
import { withProgress } from "./progress.js";

export const cellImage = "codecell.test/cell:1";
export const pauseImage = "codecell.test/pause:1";

const packages = ["python3", "ca-certificates"];
/** as in images/python/Dockerfile: a user that is nobody on the node, and no program that becomes root */
const finish = `
echo 'cell:x:10001:' >> etc/group
echo 'cell:x:10001:10001::/workspace:/bin/bash' >> etc/passwd
mkdir -p workspace deps && chown 10001:10001 workspace && chmod 1777 workspace
find . -xdev -type f -perm /6000 -exec chmod a-s {} +
rm -rf var/cache/apt/* var/lib/apt/lists/* var/log/* usr/share/doc usr/share/man usr/share/locale dev/*
`;

/**
 * The archive with both images; made once, in about a minute.
 * @param {string} build
 */
export async function imageArchive(build) {
  const archive = join(build, "images", "images.tar");
  if (existsSync(archive)) return archive;
  await withProgress("building the images with debootstrap (once, about a minute)", () => buildArchive(archive));
  return archive;
}

async function buildArchive(archive) {
  const images = join(archive, "..");
  await mkdir(images, { recursive: true });
  const directory = await mkdtemp(join(images, "making-"));
  try {
    const root = join(directory, "root");
    // in namespaces of its own, so that no mount and no process is left
    const namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"];
    const debootstrap = ["debootstrap", "--variant=minbase", `--include=${packages.join(",")}`, "bookworm", root];
    await run([...namespaces, ...debootstrap], { timeoutMs: 600_000 });
    await run(["sh", "-euc", finish], { cwd: root });
    const layer = join(directory, "layer.tar");
    const reproducible = ["--numeric-owner", "--sort=name", "--mtime=@0"];
    await run(["tar", "--create", ...reproducible, "--file", layer, "--directory", root, "."], { timeoutMs: 300_000 });
    await rm(root, { recursive: true });
    await pack(directory, layer);
    const names = ["manifest.json", "cell.json", "pause.json", "layer.tar"];
    const made = join(directory, "images.tar");
    await run(["tar", "--create", "--file", made, "--directory", directory, ...names], { timeoutMs: 300_000 });
    await rename(made, archive);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Writes the descriptions that `docker save` writes, which `ctr images import` reads. */
async function pack(directory, layer) {
  const digest = await sha256(layer);
  const describe = (config) => ({
    architecture: process.arch === "x64" ? "amd64" : process.arch,
    os: "linux",
    created: new Date(0).toISOString(),
    config,
    rootfs: { type: "layers", diff_ids: [`sha256:${digest}`] },
  });
  const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  const cell = describe({ Env: [path], User: "10001:10001", WorkingDir: "/workspace", Cmd: ["python3"] });
  const pause = describe({ Env: [path], User: "65534:65534", Entrypoint: ["/bin/sleep", "infinity"] });
  const manifest = [
    { Config: "cell.json", RepoTags: [cellImage], Layers: ["layer.tar"] },
    { Config: "pause.json", RepoTags: [pauseImage], Layers: ["layer.tar"] },
  ];
  await writeFile(join(directory, "cell.json"), JSON.stringify(cell));
  await writeFile(join(directory, "pause.json"), JSON.stringify(pause));
  await writeFile(join(directory, "manifest.json"), JSON.stringify(manifest));
}

async function sha256(path) {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(path)) hash.update(piece);
  return hash.digest("hex");
}
