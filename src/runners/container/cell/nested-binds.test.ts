import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import type { CellMount } from "../../linux/mounts/mounts.ts";
import { refuseNested, shownBelow, withNestedRefused } from "./nested-binds.ts";

const mount = (parts: Partial<CellMount>): CellMount => ({
  ...{ rule: "fs.deps", source: "/srv/deps", stage: "0", target: "/deps", readOnly: true, deny: [], pins: [] },
  ...{ nested: [], kind: "directory", identity: "1:2", ownerUid: 0 },
  ...parts,
});
const at = (path: string) => ({ path, identity: "0:3 /" });

describe("a file system mounted below a directory of the policy", () => {
  test("is mounted separately if the directory is read-only, unless a deny rule covers it", () => {
    const nested = [at("disk"), at(".ssh"), at(".ssh/keys"), at(".sshd")];
    const deny = [{ path: ".ssh", kind: "directory" as const }];
    expect(shownBelow(mount({ nested, deny }))).toEqual([at("disk"), at(".sshd")]);
  });

  test("is not mounted separately if the directory is writable", () => {
    expect(shownBelow(mount({ readOnly: false, nested: [at("disk")] }))).toEqual([]);
  });

  test.skipIf(!existsSync("/dev/shm"))(
    "is refused in the plan of a rootless engine, so that auto goes on",
    async () => {
      const base = parsePolicy({});
      // No policy file may name /dev, but it has nested mounts on every machine.
      const policy = {
        ...base,
        fs: { ...base.fs, mounts: [{ source: "/dev", target: "/host", mode: "ro" as const }] },
      };
      const row = { rule: "fs.mounts", value: "1", by: "os", how: "bind mounts" } as const;
      const plan = { rules: [row, { ...row, rule: "fs.deps" }], refused: [], notes: [] };
      const reason = expect.stringMatching(/^a file system is mounted at \/dev\/\w+, and a rootless engine/);
      expect(await withNestedRefused(policy, plan)).toMatchObject({
        rules: [{ rule: "fs.deps" }],
        refused: [{ rule: "fs.mounts", value: "1", reason, hint: expect.stringContaining("unmount it") }],
      });
      const harmless = parsePolicy({ fs: { mounts: [{ source: import.meta.dirname, target: "/here", mode: "ro" }] } });
      expect(await withNestedRefused(harmless, plan)).toEqual(plan);
      expect(await withNestedRefused(parsePolicy({}), plan)).toEqual(plan);
    },
  );

  test("is refused with its path if a rootless engine would make it writable", () => {
    const nested = [at("disk")];
    const deny = [{ path: "disk", kind: "directory" as const }];
    for (const parts of [{ nested }, { nested, deny }]) {
      expect(() => refuseNested({ isRootless: true }, [mount({}), mount(parts)])).toThrowError(
        expect.objectContaining({
          ...{
            code: "policy_refused",
            message: expect.stringContaining("fs.deps: a file system is mounted at /srv/deps/disk"),
          },
          ...{ hint: expect.stringContaining("unmount it"), details: { rule: "fs.deps" } },
        }),
      );
    }
    refuseNested({ isRootless: false }, [mount({ nested })]);
    refuseNested({ isRootless: true }, [mount({ nested, readOnly: false }), mount({})]);
  });
});
