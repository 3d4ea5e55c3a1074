import { mkdtemp, realpath, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openWorkspaceFiles } from "../../artifacts/workspace-files.ts";
import { HashCache, openServedFile } from "./served-file.ts";

test("hashing a sparse file of a terabyte stops when the client leaves", async () => {
  const root = await realpath(await mkdtemp(join(tmpdir(), "codecell-served-")));
  onTestFinished(() => rm(root, { recursive: true }));
  await writeFile(join(root, "huge"), "");
  await truncate(join(root, "huge"), 2 ** 40);
  await using files = await openWorkspaceFiles(root);
  const gone = new AbortController();
  const opened = openServedFile(files, "huge", { digests: new HashCache(), signal: gone.signal });
  setTimeout(() => gone.abort(), 20);
  await expect(opened).rejects.toMatchObject({ code: "aborted" });
});
