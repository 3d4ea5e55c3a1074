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

test("looking at a file for its type and digest gives nothing out", async () => {
  const facts = await files.stat("a.txt");
  expect((await describeArtifacts(files, [facts])).artifacts).toHaveLength(1);
  expect(audit.events).toEqual([]);
});

test("what is read of an open file is one download with its range", async () => {
  await using file = await files.open("a.txt");
  expect(audit.events).toEqual([]);
  expect(Buffer.from(await file.read({ start: 2, end: 5, maxBytes: 100 })).toString()).toBe("234");
  expect(audit.events).toEqual([{ ...download, start: 2, bytes: 3 }]);
});

test("a range that is streamed is written down before its first byte, up to the end of the file", async () => {
  await using file = await files.open("a.txt");
  for await (const piece of file.chunks({ start: 4, end: 99 })) {
    expect(audit.steps).toEqual(["file.downloaded", "settled"]);
    expect(piece.byteLength).toBe(6);
  }
  expect(audit.events).toEqual([{ ...download, start: 4, bytes: 6 }]);
});

test("what cannot be written down is not given out", async () => {
  await using file = await files.open("a.txt");
  audit.isFull = true;
  await expect(file.read({ maxBytes: 100 })).rejects.toMatchObject({ code: "audit_failed" });
  await expect(file.chunks().next()).rejects.toMatchObject({ code: "audit_failed" });
  await expect(files.read("a.txt")).rejects.toMatchObject({ code: "audit_failed" });
});
