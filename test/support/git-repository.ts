import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const exec = promisify(execFile);

/** Makes a bare repository `repo.git` with one commit in a directory that is served statically. `work` is its checkout. */
export async function makeRepository(site: string, work: string): Promise<void> {
  const git = (...args: string[]) =>
    exec("git", ["-c", "user.name=test", "-c", "user.email=test@a.example", ...args], { cwd: work });
  await mkdir(work);
  await git("init", "-q");
  await writeFile(join(work, "README"), "read me\n");
  await git("add", "README");
  await git("commit", "-q", "-m", "Begin");
  await git("clone", "-q", "--bare", ".", join(site, "repo.git"));
  await exec("git", ["update-server-info"], { cwd: join(site, "repo.git") });
}
