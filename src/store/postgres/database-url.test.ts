import { describe, expect, test } from "vitest";
import { databaseLabel, parseDatabaseUrl } from "./database-url.ts";

describe("the URL of a database", () => {
  test("names a host, a port, a database and a user", () => {
    const address = parseDatabaseUrl("postgres://me@127.0.0.1:6543/codecell");
    expect(address).toMatchObject({
      host: "127.0.0.1",
      port: 6543,
      database: "codecell",
      user: "me",
      tls: { mode: "off" },
    });
    expect(databaseLabel(address)).toBe("codecell on 127.0.0.1:6543");
  });

  test("may name the directory of a Unix socket", () => {
    const address = parseDatabaseUrl("postgresql:///codecell?host=/run/postgresql&user=me");
    expect(address).toMatchObject({ host: "/run/postgresql", port: 5432, user: "me", password: undefined });
    expect(databaseLabel(address)).toBe("codecell in /run/postgresql");
  });

  test.each([
    ["disable", { mode: "off" }],
    ["require", { mode: "unverified" }],
    ["verify-full", { mode: "verified", rootCertFile: "/ca.pem" }],
  ])("decides about encryption by sslmode=%s", (mode, tls) => {
    expect(parseDatabaseUrl(`postgres://db/x?sslmode=${mode}&sslrootcert=/ca.pem`).tls).toMatchObject(tls);
  });

  test("to another machine is refused unless it says whether the connection is encrypted", () => {
    expect(() => parseDatabaseUrl("postgres://db.example/x")).toThrow(
      /does not say whether the connection is encrypted/,
    );
    expect(() => parseDatabaseUrl("postgres://db.example/x?sslmode=prefer")).toThrow(/sslmode is not supported/);
    expect(() => parseDatabaseUrl("postgres://db.example/x?sslmode=constructor")).toThrow(/sslmode is not supported/);
  });

  test.each([
    "mysql://db/x",
    "postgres://127.0.0.1",
    "postgres:///x",
    "postgres://127.0.0.1/x?options=-c%20x",
    "postgres://127.0.0.1/x?port=0",
    "postgres://127.0.0.1/100%",
    "not a url",
  ])("%s is refused without repeating it", (url) => {
    const secret = url.replace("://", "://me:hunter2@");
    expect(() => parseDatabaseUrl(url)).toThrow(expect.objectContaining({ code: "usage" }));
    expect(() => parseDatabaseUrl(secret)).toThrow(expect.not.stringContaining("hunter2"));
  });
});
