import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { passwordFromFile, passwordIn } from "./password-file.ts";

const key = { host: "db.example", port: 5432, database: "codecell", user: "me" };

test("the first line that fits has the password, and * fits everything", () => {
  const text = [
    "# db.example:5432:codecell:me:comment",
    "other.example:5432:codecell:me:other-host",
    "db.example:5433:codecell:me:other-port",
    "db.example:5432:codecell:me",
    "db.example:5432:codecell:me:",
    "*:*:codecell:me:the first",
    "db.example:5432:codecell:me:the second",
  ].join("\r\n");
  expect(passwordIn(text, key)).toBe("the first");
  expect(passwordIn(text, { ...key, user: "you" })).toBeUndefined();
});

test("colons and backslashes are written with a backslash; a password may have plain colons", () => {
  expect(passwordIn("\\:\\:1:5432:codecell:me:a\\:b\\\\c:d", { ...key, host: "::1" })).toBe("a:b\\c:d");
});

test("localhost means the Unix socket too, and the directory of the socket can be named", () => {
  const socket = { ...key, host: "/run/postgresql" };
  expect(passwordIn("localhost:5432:*:me:by name", socket)).toBe("by name");
  expect(passwordIn("/run/postgresql:5432:*:me:by path", socket)).toBe("by path");
  expect(passwordIn("localhost:5432:*:me:by name", key)).toBeUndefined();
});

test("a password file is read from PGPASSFILE or the home directory, and refused if others can read it", async () => {
  const home = await mkdtemp(join(tmpdir(), "cc-pgpass-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const path = join(home, ".pgpass");
  expect(await passwordFromFile(key, { HOME: home })).toBeUndefined();
  await writeFile(path, "*:*:*:*:secret\n", { mode: 0o600 });
  expect(await passwordFromFile(key, { HOME: home })).toBe("secret");
  expect(await passwordFromFile(key, { HOME: "/none", PGPASSFILE: path })).toBe("secret");
  await chmod(path, 0o640);
  const refused = passwordFromFile(key, { HOME: home });
  await expect(refused).rejects.toMatchObject({ code: "usage", hint: `chmod 600 ${path}` });
  await expect(refused).rejects.not.toThrow("secret");
});
