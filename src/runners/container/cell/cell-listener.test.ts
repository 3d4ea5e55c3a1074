import { once } from "node:events";
import { lstat, mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listenerName, listenForCell } from "./cell-listener.ts";

describe("the listener of a cell", () => {
  let below: string;
  beforeAll(async () => {
    below = await mkdtemp(join(tmpdir(), "cc-listen-"));
  });
  afterAll(() => rm(below, { recursive: true, force: true }));
  const exists = (path: string) => lstat(path).then(() => true, () => false); // biome-ignore format: one question

  test("accepts the first connection and no other", async () => {
    const directory = join(below, "one");
    await using listener = await listenForCell(directory, undefined);
    const cell = connect(join(directory, listenerName));
    const socket = await listener?.connection;
    const late = connect(join(directory, listenerName));
    const [error] = await once(late, "error");
    expect(error).toMatchObject({ code: expect.stringMatching(/ENOENT|ECONNREFUSED/) });
    cell.write("hello");
    expect(String((await once(socket as NodeJS.ReadableStream & NodeJS.EventEmitter, "data"))[0])).toBe("hello");
    cell.destroy();
    socket?.destroy();
  });

  test("is accessible to its owner only", async () => {
    const directory = join(below, "rights");
    await using _listener = await listenForCell(directory, undefined);
    expect((await lstat(directory)).mode & 0o777).toBe(0o700);
    expect((await lstat(join(directory, listenerName))).mode & 0o777).toBe(0o600);
  });

  test.skipIf(process.getuid?.() !== 0)("belongs to the cell's user if there is one", async () => {
    const directory = join(below, "owner");
    await using _listener = await listenForCell(directory, 65_534);
    expect(await lstat(directory)).toMatchObject({ uid: 65_534, gid: 65_534 });
    expect(await lstat(join(directory, listenerName))).toMatchObject({ uid: 65_534, gid: 65_534 });
  });

  test("leaves no files behind if the cell never connects", async () => {
    const directory = join(below, "unused");
    const listener = await listenForCell(directory, undefined);
    await listener?.[Symbol.asyncDispose]();
    await listener?.[Symbol.asyncDispose]();
    expect(await exists(directory)).toBe(false);
  });

  test("is undefined if its path is too long for a socket", async () => {
    const directory = join(below, "x".repeat(120));
    expect(await listenForCell(directory, undefined)).toBeUndefined();
    expect(await exists(directory)).toBe(false);
  });
});
