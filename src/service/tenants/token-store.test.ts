import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newTokenText } from "./new-token.ts";
import { TokenStore } from "./token-store.ts";

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "cc-tokens-"));
  path = join(directory, "deep", "tokens.json");
});
afterEach(() => rm(directory, { recursive: true }));

const alice = { name: "alice", scopes: ["run" as const], sessions: 5 };

describe("the token store", () => {
  test("with a single token accepts that token and no other", async () => {
    const token = newTokenText();
    const store = TokenStore.single(token);
    for (const header of [`Bearer ${token}`, `bearer ${token}`]) {
      expect(await store.find(header, 1)).toMatchObject({ name: "single", scopes: ["admin"] });
    }
    for (const header of [undefined, "", "Bearer", token, `Basic ${token}`, `Bearer ${token}x`, `Bearer ${token} x`]) {
      expect(await store.find(header, 1), String(header)).toBeUndefined();
    }
    expect(() => TokenStore.single("short")).toThrow(/16 characters/);
  });

  test("finds the record of a token, and nothing for any other text", async () => {
    const store = await TokenStore.open(path);
    const { token, record } = await store.create(alice, 1);
    const other = await store.create({ ...alice, name: "bob" }, 1);
    expect(await store.find(`Bearer ${token}`, 2)).toEqual(record);
    expect(other.record.namespace).not.toBe(record.namespace);
    for (const header of [
      undefined,
      "",
      "Bearer ",
      `Basic ${token}`,
      `Bearer ${token}x`,
      token,
      "Bearer cc_",
      `Bearer ${record.sha256}`,
    ]) {
      expect(await store.find(header, 2), header).toBeUndefined();
    }
  });

  test("stores digests instead of tokens, in a private file", async () => {
    const store = await TokenStore.open(path);
    const { token } = await store.create(alice, 1);
    expect(await readFile(path, "utf8")).not.toContain(token.slice(3));
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test("picks up changes of another process at once", async () => {
    const [service, command] = [await TokenStore.open(path), await TokenStore.open(path)];
    const { token } = await command.create(alice, 1);
    expect(await service.find(`Bearer ${token}`, 2)).toMatchObject({ name: "alice" });
    const { token: next, record } = await command.rotate("alice");
    expect(await service.find(`Bearer ${token}`, 2)).toBeUndefined();
    expect(await service.find(`Bearer ${next}`, 2)).toEqual(record);
    await command.remove("alice");
    expect(await service.find(`Bearer ${next}`, 2)).toBeUndefined();
  });

  test("does not find a token that has expired", async () => {
    const store = await TokenStore.open(path);
    const { token } = await store.create({ ...alice, expiresMs: 100 }, 1);
    expect(await store.find(`Bearer ${token}`, 99)).toBeDefined();
    expect(await store.find(`Bearer ${token}`, 100)).toBeUndefined();
  });

  test("loses no token when several are created concurrently", async () => {
    const names = ["a", "b", "c", "d", "e", "f"];
    const made = await Promise.allSettled(
      names.map(async (name) => (await TokenStore.open(path)).create({ ...alice, name }, 1)),
    );
    const kept = (await (await TokenStore.open(path)).all()).map(({ name }) => name).sort();
    expect(kept).toEqual(names.filter((_, index) => made[index]?.status === "fulfilled"));
    expect(kept.length).toBeGreaterThan(0);
  });

  test("refuses a file that others can read, a damaged file, and duplicate names", async () => {
    const store = await TokenStore.open(path);
    await store.create(alice, 1);
    await expect(store.create(alice, 1)).rejects.toThrow(/already/);
    await expect(store.create({ ...alice, name: "a b" }, 1)).rejects.toThrow(/^"a b" is not a valid name: use/);
    await expect(TokenStore.open(dirname(path))).rejects.toThrow(/is not a file$/); // chmod 600 would be bad advice
    await chmod(path, 0o640);
    await expect(TokenStore.open(path)).rejects.toThrow(/can be read by others/);
    await chmod(path, 0o600);
    await writeFile(path, "{}");
    await expect(TokenStore.open(path)).rejects.toThrow(/not a token file/);
  });

  test("accepts a single token only if it is long enough", async () => {
    const store = TokenStore.single("0123456789abcdef", 3);
    expect(await store.find("Bearer 0123456789abcdef", 0)).toMatchObject({ scopes: ["admin"], sessions: 3 });
    expect(() => TokenStore.single("short", 3)).toThrow(/16 characters/);
  });
});
