import { mkdir, mkdtemp, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parsePolicy } from "./parse-policy.ts";
import { refusePlanted, rememberWritable, trustInitialPolicy, trustPolicy } from "./policy-trust.ts";

let base: string;
let work: string;
let stateDir: string;
beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "codecell-trust-")));
  [work, stateDir] = [join(base, "project", "work"), join(base, "state")];
  await mkdir(join(work, "sub"), { recursive: true });
});
afterEach(() => rm(base, { recursive: true, force: true }));

/** A cell that can write this directory is about to start. */
const startCell = (workspace = work, deny: string[] = []) =>
  rememberWritable(parsePolicy({ fs: { workspace, deny } }), stateDir);

async function put(directory: string, text = "net: { enabled: true }"): Promise<string> {
  const file = join(directory, "sandbox.policy.yaml");
  await writeFile(file, text);
  return file;
}

async function isObeyed(file: string): Promise<boolean> {
  return refusePlanted(file, await readFile(file), [stateDir]).then(
    () => true,
    (error: { code: string }) => {
      expect(error.code).toBe("policy_refused");
      return false;
    },
  );
}

describe("a policy file that is found in the current directory", () => {
  test("is not obeyed if it appeared where a program could write, there or below", async () => {
    await startCell();
    for (const directory of [work, join(work, "sub")]) {
      const file = await put(directory);
      expect(await isObeyed(file)).toBe(false);
      await startCell(); // a later cell does not make it the user's own
      await startCell(join(work, "sub"));
      expect(await isObeyed(file)).toBe(false);
    }
  });

  test("is obeyed without a question where no program could write, or if it was there first, also after edits", async () => {
    const elsewhere = await put(join(base, "project"));
    const first = await put(work);
    await startCell();
    expect([await isObeyed(elsewhere), await isObeyed(first)]).toEqual([true, true]);
    await put(work, "net: { enabled: false }");
    await startCell();
    expect(await isObeyed(first)).toBe(true);
  });

  test("is no longer the user's own once it was missing when a program started", async () => {
    const file = await put(work);
    await startCell();
    await rename(file, `${file}.old`);
    await startCell();
    await put(work);
    expect(await isObeyed(file)).toBe(false);
  });

  test("is not the user's own if the policy of a cell let the program write it", async () => {
    const file = await put(work);
    await startCell(work, ["!sandbox.policy.{yaml,yml}"]);
    expect(await isObeyed(file)).toBe(false);
  });

  test("is obeyed once its text is trusted, at this path only, and after the next start it may be edited", async () => {
    await startCell();
    const file = await put(work);
    await trustPolicy(file, await readFile(file), stateDir);
    expect([await isObeyed(file), await isObeyed(await put(join(work, "sub")))]).toEqual([true, false]);
    await put(work, "proc: { memory: 4GiB }");
    expect(await isObeyed(file)).toBe(false);
    await put(work);
    await startCell();
    await put(work, "proc: { memory: 4GiB }");
    expect(await isObeyed(file)).toBe(true);
  });

  test("is obeyed if policy init wrote it, and not if a program changed it since", async () => {
    await startCell();
    const file = await put(work, "# written by policy init");
    await trustInitialPolicy(file, "# written by policy init", stateDir);
    expect(await isObeyed(file)).toBe(true);
    await put(work);
    expect(await isObeyed(file)).toBe(false);
  });
});
