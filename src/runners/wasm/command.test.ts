import { describe, expect, test } from "vitest";
import { type BubblewrapSupport, cellCommand, nodeFlags } from "./command.ts";

const bubblewrap: BubblewrapSupport = {
  program: "/usr/bin/bwrap",
  libraries: ["/lib/libc.so.6"],
  disablesNamespaces: true,
};
const parts = {
  node: "/opt/node",
  runtime: "/state/abc",
  entry: "main.js",
  entryArguments: ["{}"],
  bubblewrap: undefined,
  dataBytes: undefined,
};

describe("cellCommand", () => {
  test("lets the process read only its runtime directory", () => {
    const reads = nodeFlags("/state/abc").filter((flag) => flag.startsWith("--allow-fs"));
    expect(reads).toEqual(["--allow-fs-read=/state/abc/*"]);
  });

  test.each(["--frozen-intrinsics", "--disallow-code-generation-from-strings", "--no-addons"])("passes %s", (flag) => {
    expect(cellCommand(parts).arguments).toContain(flag);
  });

  test("mounts only Node, its libraries and the runtime in bubblewrap, at a neutral path", () => {
    const { program, arguments: flags } = cellCommand({ ...parts, bubblewrap });
    expect(program).toBe("/usr/bin/bwrap");
    expect(flags.flatMap((flag, at) => (flag === "--ro-bind" ? [flags.slice(at + 1, at + 3)] : []))).toEqual([
      ["/opt/node", "/node"],
      ["/lib/libc.so.6", "/lib/libc.so.6"],
      ["/state/abc", "/runtime"],
    ]);
    expect(flags.slice(flags.indexOf("--") + 1)).not.toContain("/state/abc/guest/main.js");
    expect(flags).toContain("--unshare-net");
    expect(flags).toContain("--disable-userns");
  });

  test("sets RLIMIT_DATA in KiB, and the shell does not parse the command", () => {
    const { program, arguments: flags } = cellCommand({ ...parts, node: "/a b/$(node)", dataBytes: 2 ** 30 });
    expect([program, flags[0], flags[2]]).toEqual(["/bin/sh", "-c", "sh"]);
    expect(flags[1]).toContain("ulimit -d 1048576");
    expect(flags[1]).not.toContain("node");
    expect(flags[3]).toBe("/a b/$(node)");
  });
});
