import { expect, test } from "vitest";
import { FakeCgroups } from "../../../../test/support/fake-cgroups.ts";
import { createCellCgroup } from "./cell-cgroup.ts";
import type { CgroupController } from "./cgroup.ts";
import { delegateGroup } from "./delegated-group.ts";

// The files are simulated. test/escape/cgroup-v2-root.test.ts moves real processes.
const controllers: ReadonlySet<CgroupController> = new Set(["memory", "pids"]);
const unified = { kind: "v2", dir: "/cg", controllers } as const;
const limits = { memoryBytes: 1000, socketBytes: 250, pids: 64, cpus: 1.5 };
const controlFiles = ["cgroup.subtree_control", "memory.max", "pids.max", "cgroup.kill"];

test("a delegated group passes the controllers on and lets one uid move processes in it, but not change limits", async () => {
  const files = new FakeCgroups(controlFiles);
  const group = await delegateGroup(unified, "tag-t1", 500_000, files);
  const cell = await createCellCgroup(group.support, "tag-2", limits, { files, ownerUid: 500_000 });
  expect(cell.placement).toEqual([{ controller: "unified", path: "/cg/tag-t1/tag-2", file: "cgroup.procs" }]);
  expect(files.contents.get("/cg/tag-t1/cgroup.subtree_control")).toBe("memory pids");
  expect(files.contents.get("/cg/tag-t1/tag-2/memory.max")).toBe("1000");
  expect([...files.owners]).toEqual([
    ["/cg/tag-t1/cgroup.procs", 500_000],
    ["/cg/tag-t1/tag-2/cgroup.procs", 500_000],
  ]);
});

test("the process that starts cells is in a leaf, because v2 allows none beside groups with limits", async () => {
  const files = new FakeCgroups(controlFiles);
  const group = await delegateGroup(unified, "tag-t1", 500_000, files);
  await group.place(77);
  expect(files.contents.get("/cg/tag-t1/template/cgroup.procs")).toBe("77\n");
  expect(files.contents.get("/cg/tag-t1/cgroup.procs")).toBe("");
});

test("disposing a delegated group removes the leaf before the group", async () => {
  const files = new FakeCgroups(controlFiles);
  const group = await delegateGroup(unified, "tag-t1", 500_000, files);
  await group[Symbol.asyncDispose]();
  expect(files.log.slice(-2)).toEqual(["rmdir /cg/tag-t1/template", "rmdir /cg/tag-t1"]);
});

test("a group whose controllers cannot be passed on is removed", async () => {
  const files = new FakeCgroups(controlFiles);
  files.fail("/cg/tag-t1/cgroup.subtree_control", "EACCES");
  await expect(delegateGroup(unified, "tag-t1", 500_000, files)).rejects.toThrow("EACCES");
  expect(files.contents.size).toBe(0);
});
