import { chmod, lchown, lstat, mkdir, readdir, readFile, readlink, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { removeTree } from "../../lib/files/remove-tree.ts";

/** Host directories that the policy of `mounts` shows to a cell, with files that it must hide. */
export interface ShownDirectories {
  /** at /data, read-only */
  readonly readOnly: string;
  /** at /shared, read-write */
  readonly writable: string;
  /** at /deps, read-only */
  readonly deps: string;
  /** What was changed that no cell may change; undefined: nothing. */
  change(): Promise<string | undefined>;
  /** Puts everything back. The directories stay the same, because cells have mounted them. */
  repair(): Promise<void>;
}

/** A user id that no account of a usual system has. */
const ordinaryId = 54_321;

/** Glob of the policy of `mounts`, besides the built-in list of credentials. */
export const ownDenyGlob = "private/**";

/** Files that deny globs hide, by their paths below a mount; each holds the secret. */
export const deniedFiles: readonly string[] = [
  ...[".env", ".env.local", ".npmrc", ".netrc", ".git-credentials", ".pypirc", "server.pem", "id_rsa"],
  ...[".ssh/id_ed25519", ".aws/credentials", ".kube/config", ".docker/config.json", ".gnupg/secring.gpg"],
  ...[".git/config", "nested/deep/.env", "private/notes.txt", "terraform.tfstate", ".config/gh/hosts.yml"],
];

/** Files of a writable mount that tools on the host would obey. */
export const obeyedFiles: readonly string[] = [".git/hooks/pre-commit", "sandbox.policy.yaml", ".vscode/tasks.json"];

/** `outside` is a file that no mount shows; links in the mounts lead to it. */
export async function makeShownDirectories(root: string, secret: string, outside: string): Promise<ShownDirectories> {
  const readOnly = join(root, "shown", "data");
  const writable = join(root, "shown", "shared");
  const deps = join(root, "shown", "deps");
  const fill = async () => {
    for (const directory of [readOnly, writable]) {
      for (const name of deniedFiles) await put(directory, name, secret);
      await put(directory, "readme.txt", "everybody may read this\n");
      await symlink(outside, join(directory, "link-to-a-file"));
      await symlink(dirname(outside), join(directory, "link-to-a-directory"));
      await symlink(".env", join(directory, "link-to-a-denied-file"));
    }
    for (const name of obeyedFiles) await put(writable, name, "# the host's own\n");
    await put(deps, "module.py", "value = 1\n");
    await openToAll(join(root, "shown"));
  };
  await fill();
  const before = await contents(readOnly, writable, deps);
  return {
    ...{ readOnly, writable, deps },
    async change() {
      const now = await contents(readOnly, writable, deps);
      for (const [path, content] of before) if (now.get(path) !== content) return `${path} was changed on the host`;
      const isWritable = (path: string) => path.startsWith(`${writable}/`);
      const added = [...now.keys()].find((path) => !before.has(path) && !isWritable(path));
      return added === undefined ? undefined : `${added} was created on the host`;
    },
    async repair() {
      for (const directory of [readOnly, writable, deps]) {
        for (const name of await readdir(directory).catch(() => [])) await removeTree(join(directory, name));
      }
      await fill();
    },
  };
}

async function put(directory: string, name: string, content: string): Promise<void> {
  const path = join(directory, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}

/** Only the policy's rules are to keep cells out. Cells never run as root, so under root nothing here belongs to it. */
async function openToAll(path: string): Promise<void> {
  const stats = await lstat(path);
  if (process.getuid?.() === 0) await lchown(path, ordinaryId, ordinaryId);
  if (stats.isSymbolicLink()) return;
  await chmod(path, stats.isDirectory() ? 0o777 : 0o666);
  if (!stats.isDirectory()) return;
  for (const name of await readdir(path)) await openToAll(join(path, name));
}

/** Path → content of every file and link; a program may fill a writable mount, so it is bounded. */
async function contents(...directories: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const pending = [...directories];
  for (let directory = pending.pop(); directory !== undefined && found.size < 5_000; directory = pending.pop()) {
    for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) pending.push(path);
      else if (entry.isSymbolicLink()) found.set(path, `-> ${await readlink(path)}`);
      else if (entry.isFile()) found.set(path, (await readFile(path)).subarray(0, 4096).toString("latin1"));
      else found.set(path, "a special file");
    }
  }
  return found;
}
