import { describe, expect, test } from "vitest";
import type { CellMount } from "../../linux/mounts.ts";
import { refuseNested, shownBelow } from "./nested-binds.ts";

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
