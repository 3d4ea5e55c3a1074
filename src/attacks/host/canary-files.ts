import { chmod, lstat, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

const secretFile = "secret.txt";
const writableFile = "writable.txt";
const writableContent = "only the host may change this\n";

/** A directory of the host that no cell may see. Everybody may write to it: only the walls of the cell keep a program out. */
export interface CanaryDirectory {
  readonly path: string;
  readonly secretFile: string;
  readonly writableFile: string;
}

/** Creates the files of a canary directory. */
export async function plantCanary(path: string, secret: string): Promise<CanaryDirectory> {
  await mkdir(path, { recursive: true });
  await chmod(path, 0o777);
  const planted = { path, secretFile: join(path, secretFile), writableFile: join(path, writableFile) };
  await writeFile(planted.secretFile, secret);
  await writeFile(planted.writableFile, writableContent);
  await chmod(planted.secretFile, 0o666);
  await chmod(planted.writableFile, 0o666);
  return planted;
}

/** Puts everything back after harm was done, so that the next attack starts from the same. */
export async function repairCanary({ path }: CanaryDirectory, secret: string): Promise<void> {
  for (const name of await readdir(path).catch(() => [])) {
    if (!name.endsWith(".sock")) await rm(join(path, name), { recursive: true, force: true });
  }
  await plantCanary(path, secret);
}

/** What somebody changed in a canary directory; undefined: nothing. */
export async function changeOf(canary: CanaryDirectory, secret: string): Promise<string | undefined> {
  const expected = new Map([
    [secretFile, secret],
    [writableFile, writableContent],
  ]);
  const names = await readdir(canary.path).catch(() => undefined);
  if (names === undefined) return `${canary.path} was removed`;
  const added = names.find((name) => !expected.has(name) && !name.endsWith(".sock"));
  if (added !== undefined) return `${JSON.stringify(added)} was created in ${canary.path} on the host`;
  for (const [name, content] of expected) {
    const path = join(canary.path, name);
    const stats = await lstat(path).catch(() => undefined);
    if (stats === undefined) return `${path} was removed from the host`;
    if (!stats.isFile() || (stats.mode & 0o777) !== 0o666 || stats.nlink !== 1)
      return `${path} was changed on the host`;
    if ((await readFile(path, "utf8")) !== content) return `${path} was changed on the host`;
  }
  return undefined;
}
