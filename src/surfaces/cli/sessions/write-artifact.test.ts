import { execFileSync } from "node:child_process";
import {
  access,
  chmod,
  constants,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeToFile } from "./write-artifact.ts";

const how = { force: true, signal: new AbortController().signal, shown: "out.txt" };

async function begin() {
  const directory = await mkdtemp(join(tmpdir(), "codecell-write-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return { directory, path: join(directory, "out.txt") };
}

async function* failing() {
  yield Buffer.from("half");
  throw new Error("the session is gone");
}

async function* whole() {
  yield Buffer.from("new ");
  yield Buffer.from("content");
}

test("a file that --force overwrites keeps its old content if the new one cannot be read to its end", async () => {
  const { directory, path } = await begin();
  await writeFile(path, "old content");
  await expect(writeToFile(failing(), path, how)).rejects.toThrow("the session is gone");
  expect([await readFile(path, "utf8"), await readdir(directory)]).toEqual(["old content", ["out.txt"]]);
});

test("a file that --force overwrites keeps its permissions, and a link to it stays a link", async () => {
  const { directory, path } = await begin();
  const link = join(directory, "link");
  await writeFile(path, "old content");
  await chmod(path, 0o640);
  await symlink("out.txt", link);
  expect(await writeToFile(whole(), link, how)).toBe(11);
  expect([await readFile(path, "utf8"), (await stat(path)).mode & 0o777]).toEqual(["new content", 0o640]);
  expect(await readlink(link)).toBe("out.txt");
});

test("a new file that cannot be written to its end is removed, with --force too", async () => {
  const { directory, path } = await begin();
  for (const force of [false, true])
    await expect(writeToFile(failing(), path, { ...how, force })).rejects.toThrow("the session is gone");
  expect(await readdir(directory)).toEqual([]);
});

test("--force writes to a device, and refuses a directory", async () => {
  const { directory } = await begin();
  expect(await writeToFile(whole(), "/dev/null", how)).toBe(11);
  await expect(writeToFile(whole(), directory, how)).rejects.toMatchObject({ message: "out.txt is a directory" });
});

test("--force overwrites a file that is mounted, which no other file can replace", async ({ skip }) => {
  if (process.platform !== "linux" || process.getuid?.() !== 0) skip("mounting a file needs root on Linux");
  const { directory, path } = await begin();
  const other = join(directory, "host file");
  await writeFile(other, "a longer old content");
  await writeFile(path, "");
  try {
    execFileSync("mount", ["--bind", other, path]);
  } catch {
    return skip("this user may not mount");
  }
  onTestFinished(() => void execFileSync("umount", [path]));
  expect(await writeToFile(whole(), path, how)).toBe(11);
  expect(await readFile(other, "utf8")).toBe("new content");
});

test("--force overwrites a file in a directory that this user may not write", async ({ skip }) => {
  const { directory, path } = await begin();
  await writeFile(path, "a longer old content");
  await chmod(directory, 0o500);
  onTestFinished(() => chmod(directory, 0o700));
  const isWritable = await access(directory, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (isWritable) skip("root may write every directory");
  expect(await writeToFile(whole(), path, how)).toBe(11);
  expect(await readFile(path, "utf8")).toBe("new content");
});
