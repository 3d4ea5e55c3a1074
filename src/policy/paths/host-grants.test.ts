import { expect, test } from "vitest";
import { parsePolicy } from "../file/parse-policy.ts";
import { hostGrants, writableHostPaths } from "./host-grants.ts";

const mounts = [
  { source: "/srv/read", target: "/read" },
  { source: "/srv/write", target: "/write", mode: "rw" as const },
];

test("the strictest policy gives a cell no path of the host", () => {
  expect(hostGrants(parsePolicy({}))).toEqual([]);
  expect(writableHostPaths(parsePolicy({}))).toEqual([]);
});

test("code can write the workspace and mounts of mode rw, and nothing else", () => {
  const fs = { workspace: "/srv/work", deps: "/srv/deps", load: ["/srv/load"], mounts };
  expect(writableHostPaths(parsePolicy({ fs }))).toEqual(["/srv/work", "/srv/write"]);
  expect(writableHostPaths(parsePolicy({ fs: { ...fs, workspace: undefined } }))).toEqual(["/srv/write"]);
  expect(writableHostPaths(parsePolicy({ fs: { deps: "/srv/deps", load: ["/srv/load"] } }))).toEqual([]);
});

test("every host path comes with its rule, its position in the policy and its path in the cell", () => {
  expect(hostGrants(parsePolicy({ fs: { workspace: "/srv/work", deps: "/srv/deps", mounts } }))).toEqual([
    {
      ...{ rule: "fs.workspace", path: ["fs", "workspace"] },
      ...{ source: "/srv/work", target: "/workspace", isWritable: true },
    },
    { rule: "fs.deps", path: ["fs", "deps"], source: "/srv/deps", target: "/deps", isWritable: false },
    {
      ...{ rule: "fs.mounts", path: ["fs", "mounts", 0, "source"] },
      ...{ source: "/srv/read", target: "/read", isWritable: false },
    },
    {
      ...{ rule: "fs.mounts", path: ["fs", "mounts", 1, "source"] },
      ...{ source: "/srv/write", target: "/write", isWritable: true },
    },
  ]);
});

test("a mount with any mode but ro counts as writable, so no guard misses it", () => {
  const policy = parsePolicy({ fs: { mounts: [{ source: "/srv/data", target: "/data" }] } });
  const [mount] = policy.fs.mounts;
  const odd = { ...policy.fs, mounts: [{ ...mount, mode: "RW" }] } as unknown as typeof policy.fs;
  expect(writableHostPaths({ fs: odd })).toEqual(["/srv/data"]);
});
