import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Cleanup } from "../../src/lib/cleanup.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import { bindMount, cannotMount, mountableDirectory, mountMemory } from "../support/host-mounts.ts";
import { bothLayouts, describeAttacks, look, openCells, repeatsDocker, run } from "../support/process-cells.ts";

const secret = "s3cret-of-the-host";
const ordinaryUid = 54_321;
let source: string;
let cleanup: Cleanup;

beforeEach(async () => {
  cleanup = new Cleanup();
  source = await mkdtemp(join(mountableDirectory, "codecell-nested-"));
  cleanup.defer(() => rm(source, { recursive: true, force: true }));
  await chmod(source, 0o777);
  await writeFile(join(source, "top.txt"), "top");
});
afterEach(() => cleanup[Symbol.asyncDispose]());

/** Mounts like an operator does: a disk, a share or a tmpfs below a directory that cells see. */
async function mountBelow(path: string, files: Record<string, string>): Promise<void> {
  const mounted = await mountMemory(join(source, path), files);
  cleanup.defer(() => mounted[Symbol.asyncDispose]());
}

/** Both rules that mount a directory read-only, for the same directory. */
const shown = ["/deps", "/data"];
const readOnly = () => ({ fs: { deps: source, mounts: [{ source, target: "/data" }] } });

/** The files that a program reads in each of them, and what it could change there. */
async function survey(session: LiveSession): Promise<unknown> {
  return await look(session, surveying);
}
const surveying = `
import os
seen, changed = {}, []
def attempt(call, *args):
    try: call(*args)
    except OSError: return
    changed.append((call.__name__, *args))
def write(path):
    with open(path, "w") as file: file.write("changed")
for target in ${JSON.stringify(shown)}:
    seen[target] = {}
    for directory, names, files in list(os.walk(target)):
        for name in files:
            path = os.path.join(directory, name)
            try: seen[target][os.path.relpath(path, target)] = open(path).read()
            except OSError: pass
            attempt(write, path); attempt(os.chmod, path, 0o777); attempt(os.rename, path, path + "2"); attempt(os.remove, path)
        attempt(write, directory + "/new.txt"); attempt(os.mkdir, directory + "/new")
print(json.dumps({"seen": seen, "changed": changed}))`;

/** The same files in both, and no change possible. */
const onlyRead = (files: Record<string, string>) => ({
  seen: Object.fromEntries(shown.map((target) => [target, files])),
  changed: [],
});

describe.skipIf(cannotMount)("a host file system mounted below a directory", () => {
  describeAttacks(bothLayouts, "that is read-only in the $name", (layout) => {
    test("is read-only, as is another one below it, and shows neither denied files nor what the cell cannot reach", async () => {
      const denied = { ".env": secret, "sub/.aws/credentials": secret };
      await mountBelow("disk", { ...denied, "file.txt": "nested", "deep/a, b.txt": "comma" });
      await mountBelow("disk/deep/er, too", { "file.txt": "deeper" });
      await mountBelow(".ssh", { id_ed25519: secret }); // its own name is denied
      await mountBelow(".ssh/more", { id_rsa: secret });
      await mountBelow("closed/disk", { "file.txt": "nested" });
      await chmod(join(source, "closed"), 0o700);
      await using codecell = await openCells(layout, readOnly());
      await using session = await codecell.openSession();
      const nested = { "disk/file.txt": "nested", "disk/deep/a, b.txt": "comma" };
      expect(await survey(session)).toEqual(
        onlyRead({ "top.txt": "top", ...nested, "disk/deep/er, too/file.txt": "deeper" }),
      );
      expect(await readFile(join(source, "disk/.env"), "utf8")).toBe(secret);
    });

    if (repeatsDocker(layout)) return; // before each start, the host looks for mounts

    test("is read-only in the next session if it is mounted during the first, and disappears when it is unmounted", async () => {
      await mkdir(join(source, "disk"));
      await using codecell = await openCells(layout, readOnly());
      await using first = await codecell.openSession();
      await run(first, "1");
      const mounted = await mountMemory(join(source, "disk"), { "file.txt": "nested", ".env": secret });
      try {
        await using second = await codecell.openSession();
        expect(await survey(second)).toEqual(onlyRead({ "top.txt": "top", "disk/file.txt": "nested" }));
      } finally {
        await mounted[Symbol.asyncDispose]();
      }
      await using third = await codecell.openSession();
      expect(await survey(third)).toEqual(onlyRead({ "top.txt": "top" }));
    });
  });

  describeAttacks(bothLayouts, "that is the workspace in the $name", (layout) => {
    test("is writable, and its denied files stay hidden and in place", async () => {
      await mountBelow("disk", { "file.txt": "nested", ".git/config": secret, "sub/.env": secret });
      await chown(source, ordinaryUid, ordinaryUid); // no cell runs as root
      await using codecell = await openCells(layout, { fs: { workspace: source } });
      await using session = await codecell.openSession();
      const code = `
import os
done = []
def attempt(call, *args):
    try: call(*args)
    except OSError: return
    done.append(args[0])
def write(path):
    with open(path, "w") as file: file.write("changed")
attempt(write, "disk/file.txt"); attempt(write, "disk/new.txt"); attempt(write, "disk/.git/config"); attempt(write, "disk/sub/.env")
attempt(os.rename, "disk/.git", "disk/git"); attempt(os.rename, "disk", "disc"); attempt(os.remove, "disk/sub/.env")
def read(path):
    try: return open(path).read()
    except PermissionError: return None
print(json.dumps([done, read("disk/.git/config"), read("disk/sub/.env")]))`;
      expect(await look(session, code)).toEqual([["disk/file.txt", "disk/new.txt"], null, null]);
      expect(await readFile(join(source, "disk/file.txt"), "utf8")).toBe("changed");
      expect(await readFile(join(source, "disk/.git/config"), "utf8")).toBe(secret);
      expect(await readFile(join(source, "disk/sub/.env"), "utf8")).toBe(secret);
    });

    if (repeatsDocker(layout)) return; // the host finds the mount and reads the files

    test("shows a bind mount of a denied directory neither to the cell nor through the host's access to its files", async () => {
      const private_ = await mkdtemp(join(mountableDirectory, "codecell-nested-"));
      cleanup.defer(() => rm(private_, { recursive: true, force: true }));
      await mkdir(join(private_, ".aws"));
      await writeFile(join(private_, ".aws/key"), secret);
      await chmod(private_, 0o755);
      await mkdir(join(source, "data"));
      await chown(source, ordinaryUid, ordinaryUid);
      const mounted = await bindMount(join(private_, ".aws"), join(source, "data"));
      cleanup.defer(() => mounted[Symbol.asyncDispose]());
      await using codecell = await openCells(layout, { fs: { workspace: source } });
      await using session = await codecell.openSession();
      expect((await run(session, "open('data/key').read()")).status).toBe("error");
      await expect(session.files?.read("data/key")).rejects.toMatchObject({ code: "file_refused" });
      expect((await session.files?.list())?.files.map(({ path }) => path)).toEqual(["top.txt"]);
    });
  });
});
