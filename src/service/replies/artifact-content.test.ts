import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FakeAudit } from "../../../test/fakes/fake-audit.ts";
import { smallPng } from "../../../test/fakes/small-png.ts";
import { openWorkspaceFiles, type WorkspaceFiles } from "../../artifacts/workspace-files.ts";
import { auditedFiles } from "../../sessions/files/audited-files.ts";
import { artifactContent } from "./artifact-content.ts";

let directory: string;
let files: WorkspaceFiles;
beforeAll(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), "codecell-content-")));
  await mkdir(join(directory, "a"));
  await writeFile(join(directory, "a/long.txt"), "ü".repeat(60_000));
  await writeFile(join(directory, "red.png"), smallPng());
  await writeFile(join(directory, "fake.png"), "<script>");
  await writeFile(join(directory, "large.bin"), Buffer.alloc(600 * 1024, 0xff));
  await writeFile(join(directory, "empty.txt"), "");
  files = await openWorkspaceFiles(directory);
});
afterAll(async () => {
  await files[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

test("a text file is returned in parts that join to the whole file", async () => {
  let text = "";
  for (let start = 0; start < 120_000; ) {
    const part = await artifactContent(files, "a/long.txt", { start });
    if (part.body.as !== "text") throw new Error("not text");
    text += part.body.text;
    expect(part.end).toBeGreaterThan(start);
    start = part.end;
  }
  expect(text).toBe("ü".repeat(60_000));
  // a part never begins or ends inside a character
  expect((await artifactContent(files, "a/long.txt", { start: 0, end: 3 })).end).toBe(2);
});

test("a PNG is returned as an image, and a part of it as bytes", async () => {
  expect((await artifactContent(files, "red.png")).body.as).toBe("image");
  expect((await artifactContent(files, "red.png", { start: 8 })).body.as).toBe("base64");
});

test("the type of a file follows its content, not only its name", async () => {
  const { mimeType, body } = await artifactContent(files, "fake.png");
  expect(mimeType).toBe("application/octet-stream");
  expect(body.as).not.toBe("image");
});

test("a binary file over the limit is refused, but a part of it is returned", async () => {
  await expect(artifactContent(files, "large.bin")).rejects.toMatchObject({ code: "too_large" });
  const part = await artifactContent(files, "large.bin", { start: 10, end: 20 });
  expect(part).toMatchObject({ start: 10, end: 20, size: 600 * 1024 });
});

test("an empty file and a part that starts at the end of a file are empty text, and one beyond it is refused", async () => {
  expect((await artifactContent(files, "empty.txt")).body).toEqual({ as: "text", text: "" });
  expect(await artifactContent(files, "a/long.txt", { start: 120_000 })).toMatchObject({
    start: 120_000,
    end: 120_000,
  });
  await expect(artifactContent(files, "a/long.txt", { start: 120_001 })).rejects.toMatchObject({ code: "usage" });
});

test.each(["a/long.txt", "red.png", "fake.png", "empty.txt"])("reading %s is audited once", async (name) => {
  const audit = new FakeAudit();
  const { start, end, size } = await artifactContent(auditedFiles(files, audit, "work"), name, {}, 2 ** 20);
  expect(audit.events).toEqual([
    { type: "file.downloaded", session: "work", path: name, start, bytes: end - start, size },
  ]);
});
