import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import type { PythonInstallation } from "../linux/python/python.ts";
import { cellCommand, pythonOnHost, type SrtCellConfig } from "./cell-command.ts";

const config: SrtCellConfig = {
  workspace: '/srv/it\'s $(here) `too`\n"quoted"',
  identities: [],
  denied: [],
  files: 1,
  fileBytes: 4096,
  diskBytes: 1,
  nprocLimit: 1,
  dataLimit: 1,
  affinity: [0],
  filter: "",
  guard: "",
};

describe("cellCommand", () => {
  test("quotes paths so that the shell does not change them", () => {
    const command = cellCommand("/bin/echo", "/kernel dir", config).replace("exec ", "printf '%s\\0' ");
    const words = execFileSync("/bin/sh", ["-c", command], { encoding: "utf8" }).split("\0");
    expect(words.slice(0, 4)).toEqual(["/bin/echo", "-I", "-S", "-B"]);
    expect(words.at(-3)).toBe("/kernel dir");
    expect(JSON.parse(words.at(-2) ?? "")).toEqual(config);
  });
});

describe("pythonOnHost", () => {
  const python: PythonInstallation = {
    executable: "/home/me/py/bin/python3",
    executableInside: "/opt/python/bin/python3",
    version: [3, 12, 0],
    bytecode: "any",
    mounts: [{ source: "/home/me/py", target: "/opt/python" }],
    path: ["/opt/python/lib/python3.12", "/usr/lib/python3/dist-packages", "/opt/python-other"],
    libraryPath: "/opt/python/lib",
  };

  test("returns import directories at their host paths", () => {
    expect(pythonOnHost(python)).toEqual({
      path: ["/home/me/py/lib/python3.12", "/usr/lib/python3/dist-packages", "/opt/python-other"],
      directories: ["/home/me/py"],
      libraryPath: "/home/me/py/lib",
    });
  });
});
