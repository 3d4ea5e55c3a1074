import { describe, expect, test } from "vitest";
import type { Codecell } from "../../sessions/codecell.ts";
import { SharedCodecells } from "./shared-codecells.ts";

function opener() {
  const log: string[] = [];
  const open = async () => {
    const name = `codecell ${log.filter((line) => line.endsWith("opened")).length + 1}`;
    log.push(`${name} opened`);
    return { close: async () => void log.push(`${name} closed`) } as unknown as Codecell;
  };
  return { log, open };
}

describe("shared codecells", () => {
  test("are opened once per key and closed by the last user", async () => {
    const shared = new SharedCodecells();
    const { log, open } = opener();
    const [a, b] = await Promise.all([shared.borrow("one", open), shared.borrow("one", open)]);
    expect(a.codecell).toBe(b.codecell);
    const other = await shared.borrow("two", open);
    expect(other.codecell).not.toBe(a.codecell);
    await a[Symbol.asyncDispose]();
    await a[Symbol.asyncDispose](); // twice is once
    expect(log).toEqual(["codecell 1 opened", "codecell 2 opened"]);
    await b[Symbol.asyncDispose]();
    expect(log.at(-1)).toBe("codecell 1 closed");
    await other[Symbol.asyncDispose]();
    expect(shared.size).toBe(0);
  });

  test("are opened again after the last user, and after a failure", async () => {
    const shared = new SharedCodecells();
    const { log, open } = opener();
    await expect(shared.borrow("one", () => Promise.reject(new Error("no runner")))).rejects.toThrow("no runner");
    await (await shared.borrow("one", open))[Symbol.asyncDispose]();
    await (await shared.borrow("one", open))[Symbol.asyncDispose]();
    expect(log.filter((line) => line.endsWith("opened"))).toHaveLength(2);
    expect(shared.size).toBe(0);
  });
});
