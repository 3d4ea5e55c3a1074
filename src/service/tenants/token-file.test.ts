import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readTokenFile } from "./token-file.ts";

test("a token file is read only if it is private and its token is long enough", async () => {
  const directory = await mkdtemp(join(tmpdir(), "codecell-token-"));
  const file = async (name: string, text: string, mode: number) => {
    await writeFile(join(directory, name), text, { mode });
    return readTokenFile(join(directory, name));
  };
  expect(await file("good", "0123456789abcdef\n", 0o600)).toBe("0123456789abcdef");
  await expect(file("open", "0123456789abcdef\n", 0o640)).rejects.toMatchObject({ code: "usage" });
  await expect(file("short", "0123\n", 0o600)).rejects.toMatchObject({ code: "usage" });
  await expect(readTokenFile(join(directory, "missing"))).rejects.toMatchObject({ code: "usage" });
  await rm(directory, { recursive: true });
});
