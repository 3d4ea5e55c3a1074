import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeAudit } from "../../../test/fakes/fake-audit.ts";
import { describeArtifacts } from "../../artifacts/artifacts.ts";
import { openWorkspaceFiles, type WorkspaceFiles } from "../../artifacts/workspace-files.ts";
import { auditedFiles } from "./audited-files.ts";

let directory: string;
let audit: FakeAudit;
let files: WorkspaceFiles;
beforeEach(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), "codecell-audited-")));
  await writeFile(join(directory, "a.txt"), "0123456789");
  audit = new FakeAudit({ durable: true });
  files = auditedFiles(await openWorkspaceFiles(directory), audit, "work");
});
afterEach(async () => {
  await files[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

const download = { type: "file.downloaded", session: "work", path: "a.txt", size: 10 };

test("describing a file records no download", async () => {
  const facts = await files.stat("a.txt");
  expect((await describeArtifacts(files, [facts])).artifacts).toHaveLength(1);
  expect(audit.events).toEqual([]);
});

test("a read from an open file is recorded as one download with its range", async () => {
  await using file = await files.open("a.txt");
  expect(audit.events).toEqual([]);
  expect(Buffer.from(await file.read({ start: 2, end: 5, maxBytes: 100 })).toString()).toBe("234");
  expect(audit.events).toEqual([{ ...download, start: 2, bytes: 3 }]);
});

test("a streamed range is recorded before its first byte is sent, and ends at the end of the file", async () => {
  await using file = await files.open("a.txt");
  for await (const piece of file.chunks({ start: 4, end: 99 })) {
    expect(audit.steps).toEqual(["file.downloaded", "settled"]);
    expect(piece.byteLength).toBe(6);
  }
  expect(audit.events).toEqual([{ ...download, start: 4, bytes: 6 }]);
});

test("a deletion is recorded, and one that failed is not", async () => {
  await files.remove("a.txt");
  expect(audit.events).toEqual([{ type: "file.deleted", session: "work", path: "a.txt" }]);
  await expect(files.remove("a.txt")).rejects.toMatchObject({ code: "file_missing" });
  expect(audit.events).toHaveLength(1);
});

test("a download that cannot be recorded is refused", async () => {
  await using file = await files.open("a.txt");
  audit.isFull = true;
  await expect(file.read({ maxBytes: 100 })).rejects.toMatchObject({ code: "audit_failed" });
  await expect(file.chunks().next()).rejects.toMatchObject({ code: "audit_failed" });
  await expect(files.read("a.txt")).rejects.toMatchObject({ code: "audit_failed" });
});
