import {
  chmod,
  chown,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CodecellError } from "../../src/lib/errors.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { mountableDirectory } from "../support/host-mounts.ts";
import {
  bothLayouts,
  describeAttacks,
  type Layout,
  look,
  openCells,
  repeatsDocker,
  run,
} from "../support/process-cells.ts";

const secret = "s3cret-of-the-host";
const ordinaryUid = 54_321;
let base: string;
let project: string;

/** A typical project, with secrets at the usual places. */
async function makeProject(): Promise<void> {
  base = await mkdtemp(join(mountableDirectory, "codecell-deny-"));
  await chmod(base, 0o755); // under root, a cell that only reads runs as another user
  project = join(base, "project");
  for (const directory of [".git", ".ssh", "node_modules/x", "sub/.aws", "sub/deep", ".config/gcloud"])
    await mkdir(join(project, directory), { recursive: true });
  const secrets = [
    ".env",
    ".ENV.local",
    ".git/config",
    ".ssh/id_ed25519",
    "node_modules/x/.env",
    "sub/.aws/credentials",
    "sub/deep/.env",
    ".config/gcloud/token",
  ];
  for (const path of secrets) await writeFile(join(project, path), secret);
  await writeFile(join(project, "readme.txt"), "open");
  await writeFile(join(base, "outside.txt"), secret);
  await mkdir(join(base, "private"));
  await writeFile(join(base, "private", "file.txt"), secret);
  await symlink(".env", join(project, "env-link"));
  await symlink("../outside.txt", join(project, "out-link"));
  await symlink("/proc/self/root/etc/shadow", join(project, "proc-link"));
  await symlink(base, join(project, "base-link"));
  await giveTo(ordinaryUid, base);
}
const removeProject = () => rm(base, { recursive: true, force: true });

async function giveTo(uid: number, path: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) await chown(join(entry.parentPath, entry.name), uid, uid);
  }
  await chown(path, uid, uid);
}

const huntIn = (target: string) => `
import os
found = []
def read(path):
    try:
        with open(path) as file: return "${secret.slice(0, 6)}" + "${secret.slice(6)}" in file.read()
    except (OSError, UnicodeDecodeError): return False
for directory, names, files in os.walk("${target}", followlinks=True):
    if directory.count("/") > 12: names.clear()
    found += [os.path.join(directory, name) for name in files if read(os.path.join(directory, name))]
`;

/** The ways in which a policy shows a directory of the host. */
const ways: { what: string; at: string; mode: "ro" | "rw"; fs: () => PolicyInput["fs"] }[] = [
  {
    what: "a read-only mount",
    at: "/data",
    mode: "ro",
    fs: () => ({ mounts: [{ source: project, target: "/data" }] }),
  },
  {
    ...{ what: "a writable mount", at: "/data", mode: "rw" },
    fs: () => ({ mounts: [{ source: project, target: "/data", mode: "rw" }] }),
  },
  { what: "a host directory as workspace", at: "/workspace", mode: "rw", fs: () => ({ workspace: project }) },
];

for (const { what, at, mode, fs } of ways) {
  describeAttacks(bothLayouts, `${what} in the $name`, (layout) => {
    const policy = () => ({ fs: fs() });
    const hunt = huntIn(at);
    let codecell: LiveSessions;
    let session: LiveSession;
    /** One project and one cell for all questions, because starting a cell takes longer than asking. */
    beforeAll(async () => {
      await makeProject();
      codecell = await openCells(layout, policy());
      session = await codecell.openSession();
    });
    afterAll(async () => {
      await codecell?.close();
      await removeProject();
    });

    test("shows no denied file by name, symlink, letter case or path", async () => {
      const code = `${hunt}
for path in ("${at}/.env", "${at}/./.env", "${at}/sub/../.env", "${at}//.env", "/proc/self/root${at}/.env", "/proc/self/cwd/..${at}/.env",
             "${at}/.git/config", "${at}/.ssh/id_ed25519", "${at}/env-link", "${at}/out-link", "${at}/proc-link", "${at}/base-link/outside.txt",
             "${at}/../outside.txt", "${at}/.ENV.local", "/run/m/0/.env"):
    if read(path): found.append(path)
fd = os.open("${at}", os.O_RDONLY)
try: found += ["openat"] if b"${secret}" in os.read(os.open(".env", os.O_RDONLY, dir_fd=fd), 99) else []
except OSError: pass
print(json.dumps([found, open("${at}/readme.txt").read()]))`;
      expect(await look(session, code)).toEqual([[], "open"]);
    });

    test("reading or listing what is denied fails, and the notes name the rule", async () => {
      const code = `
import os
def attempt(call, *args):
    try: return call(*args)
    except OSError as error: return error.errno
paths = [${[".env", ".ENV.local", ".git/config", "node_modules/x/.env", "sub/deep/.env"].map((path) => `"${at}/${path}"`)}]
directories = ["${at}/.ssh", "${at}/sub/.aws", "${at}/.config/gcloud"]
for path in paths + directories: attempt(os.chmod, path, 0o777)
print(json.dumps([[attempt(open, path) for path in paths], [attempt(os.listdir, path) for path in directories],
    attempt(open, "${at}/.ssh/id_ed25519"), attempt(open, "${at}/env-link")]))`;
      const accessDenied = 13;
      expect(await look(session, code)).toEqual([Array(5).fill(accessDenied), Array(3).fill(accessDenied), 13, 13]);
      const failed = await run(session, `open("${at}/.env").read()`);
      expect(failed).toMatchObject({ status: "error", error: { name: "PermissionError" } });
      expect(failed.notes).toEqual([expect.stringMatching(`^${at}/\\.env is denied by the policy: \\.env\\*`)]);
    });

    test("what the cell writes beside denied files is still noticed", async () => {
      const written = await run(session, "open('/workspace/made.txt', 'w').write('x')");
      expect(written).toMatchObject({ status: "ok", artifacts: [{ name: "made.txt" }] });
    });

    test(
      mode === "ro" ? "cannot be written" : "is written as its owner, and nothing outside it is written",
      async () => {
        const code = `
import os
done = []
for path in ("${at}/new.txt", "${at}/readme.txt", "${at}/../new.txt", "${at}/out-link", "${at}/base-link/new.txt", "${at}/sub/new.txt"):
    try:
        with open(path, "w") as file: file.write("written")
        done.append(path)
    except OSError: pass
print(json.dumps(done))`;
        const done = (await look(session, code)) as string[];
        const inside = ["new.txt", "readme.txt", "sub/new.txt"].map((name) => `${at}/${name}`);
        expect(done).toEqual(mode === "ro" ? [] : inside);
        expect(await readFile(join(base, "outside.txt"), "utf8")).toBe(secret);
        expect(await readdir(base)).toEqual(expect.not.arrayContaining(["new.txt"]));
      },
    );

    test("hides denied files from this session and the next, whatever code removes, moves, links or copies", async () => {
      const code = `${hunt}
def attempt(call, *args):
    try: call(*args)
    except OSError: pass
import shutil
attempt(os.remove, "${at}/.env"); attempt(os.rename, "${at}/.env", "${at}/plain"); attempt(os.link, "${at}/.env", "${at}/linked")
attempt(os.rename, "${at}/.ssh", "${at}/ssh"); attempt(os.rename, "${at}/.git", "${at}/git"); attempt(os.rename, "${at}/.config", "${at}/config")
attempt(os.rename, "${at}/node_modules", "${at}/modules"); attempt(os.rename, "${at}/sub", "${at}/bus"); attempt(os.rename, "${at}/sub/deep", "${at}/deep")
attempt(os.symlink, "${at}/.env", "${at}/another"); attempt(os.chmod, "${at}/.env", 0o777); attempt(os.truncate, "${at}/.env", 0)
attempt(shutil.copytree, "${at}", "/tmp/copy")
for directory, names, files in os.walk("/tmp"):
    found += [name for name in files if read(os.path.join(directory, name))]
${hunt.split("found = []")[1]}
print(json.dumps(found))`;
      expect(await look(session, code)).toEqual([]);
      expect(await readFile(join(project, ".env"), "utf8")).toBe(secret);
      if (repeatsDocker(layout)) return; // before each start, the host looks for denied files
      await using again = await openCells(layout, policy());
      await using next = await again.openSession();
      expect(await look(next, `${hunt}\nprint(json.dumps(found))`)).toEqual([]);
    });

    if (repeatsDocker(layout)) return;

    test("hides denied files that were created after the first session from the next one", async () => {
      await mkdir(join(project, "later"));
      await writeFile(join(project, "later", ".env"), secret);
      await giveTo(ordinaryUid, project);
      await using second = await codecell.openSession();
      expect(await look(second, `${hunt}\nprint(json.dumps(found))`)).toEqual([]);
    });
  });
}

describe("a writable mount (open problems)", () => {
  test.todo("does not let code create a missing denied file: .git/hooks/post-commit, .vscode/tasks.json, .mcp.json");
  test.todo("hides a denied file that the host replaces by rename, as editors do on save");
});

const replaceSource = (layout: Layout): void => {
  const hunt = huntIn("/data");
  beforeEach(makeProject);
  afterEach(removeProject);

  test("that became a symlink to a forbidden directory before the start is refused", async () => {
    const source = join(base, "swapped");
    await mkdir(source);
    const policy = { fs: { mounts: [{ source, target: "/data" }] } };
    await using codecell = await openCells(layout, policy);
    await rename(source, join(base, "aside"));
    await symlink("/etc", source);
    await expect(codecell.openSession()).rejects.toBeInstanceOf(CodecellError);
  });

  test("that is denied itself is refused, also under another name", async () => {
    await symlink(join(project, ".ssh"), join(base, "keys"));
    for (const name of ["project/.ssh", "keys", "project/.env"]) {
      const policy = { fs: { mounts: [{ source: join(base, name), target: "/data" }] } };
      const opening = async () => {
        await using codecell = await openCells(layout, policy);
        await codecell.openSession();
      };
      await expect(opening()).rejects.toBeInstanceOf(CodecellError);
    }
  });

  test("with a hard link to a denied file under another name shows it, because deny globs match names only", async () => {
    await link(join(project, ".env"), join(project, "notes.txt"));
    await using codecell = await openCells(layout, { fs: { mounts: [{ source: project, target: "/data" }] } });
    await using session = await codecell.openSession();
    expect(await look(session, `${hunt}\nprint(json.dumps(found))`)).toEqual(["/data/notes.txt"]);
  });

  test("that a session replaces by a symlink does not expose the link's target to the next session", async () => {
    await mkdir(join(project, "inner"));
    await giveTo(ordinaryUid, project);
    const mounts = [
      { source: project, target: "/data", mode: "rw" as const },
      { source: join(project, "inner"), target: "/inner" },
    ];
    const opening = openCells(layout, { fs: { mounts } });
    const outcome = await opening
      .then(async (codecell) => {
        await using _ = codecell;
        await using first = await codecell.openSession();
        await run(
          first,
          `import os\nos.rename("/data/inner", "/data/aside")\nos.symlink("${join(base, "private")}", "/data/inner")`,
        );
        await using again = await openCells(layout, { fs: { mounts } });
        await using second = await again.openSession();
        return await run(second, "open('/inner/file.txt').read()");
      })
      .catch((error: unknown) => error);
    if (outcome instanceof Error) expect(outcome).toBeInstanceOf(CodecellError);
    else expect(outcome).not.toMatchObject({ value: `'${secret}'` });
  });
};

// the host refuses or follows what it finds there before a cell starts
describeAttacks(bothLayouts, "a mount's source in the $name", replaceSource);
