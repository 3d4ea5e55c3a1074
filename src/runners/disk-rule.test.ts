import { describe, expect, test } from "vitest";
import { parsePolicy } from "../policy/file/parse-policy.ts";
import type { PolicyInput } from "../policy/schema.ts";
import {
  type DiskFacts,
  exactDisk,
  isDiskExact,
  largestFileBytes,
  measuredDirectory,
  ownFileSystem,
} from "./disk-rule.ts";

const MiB = 2 ** 20;
const exact = (input: PolicyInput = {}) => parsePolicy({ ...input, proc: { disk: "8MiB", exactDisk: true } });
const able: DiskFacts = { hasSessionDirectory: true, images: { isAvailable: true } };
const unable: DiskFacts = {
  hasSessionDirectory: true,
  images: { isAvailable: false, reason: "only root can", hint: "run codecell as root" },
};
const writable = { fs: { mounts: [{ source: "/srv/out", target: "/out", mode: "rw" as const }] } };

describe("who holds proc.disk", () => {
  test("the OS does for a session with a file system of its own, and codecell for a plain directory", () => {
    expect(ownFileSystem(exact(), able)).toMatchObject({
      by: "os",
      how: expect.stringContaining("deleted files count"),
    });
    expect(ownFileSystem(parsePolicy({}), able)).toBeUndefined();
    expect(measuredDirectory(parsePolicy({}), { seesDeleted: false })).toMatchObject({ by: "host watchdog" });
  });

  test("files in writable mounts do not count on a disk of the session's own either, and the row says so", () => {
    const row = ownFileSystem(exact(writable), able);
    expect(row).toMatchObject({ how: expect.stringContaining("files in writable mounts are not counted") });
  });
});

describe("proc.exactDisk", () => {
  test("is refused by name where the host cannot mount file systems", () => {
    expect(exactDisk(exact(), unable)).toEqual({ reason: "only root can", hint: "run codecell as root" });
  });

  test("is refused with a directory of the host as the workspace", () => {
    expect(exactDisk(exact({ fs: { workspace: "/srv/work" } }), able)).toMatchObject({
      reason: expect.stringContaining("fs.workspace"),
    });
  });

  test("needs nothing of the host if files are in memory, or if it is not requested", () => {
    expect(exactDisk(exact(), { ...unable, hasSessionDirectory: false })).toMatchObject({ by: "os" });
    expect(exactDisk(parsePolicy({}), unable)).toMatchObject({ by: "host" });
  });
});

test("a file may be larger than an exact disk, so that a program sees ENOSPC and not EFBIG", () => {
  expect(largestFileBytes(exact())).toBe(16 * MiB);
  expect(largestFileBytes(exact(writable))).toBe(8 * MiB); // there it is the only limit
  expect(largestFileBytes(parsePolicy({ proc: { disk: "8MiB" } }))).toBe(8 * MiB);
});

test("space may be reserved without writing only if every writable place has a size", () => {
  expect([exact(), exact(writable), parsePolicy({})].map(isDiskExact)).toEqual([true, false, false]);
});
