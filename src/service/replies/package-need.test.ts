import { describe, expect, test } from "vitest";
import type { RunResult } from "../../sessions/runs/run.ts";
import { packageNeed } from "./package-need.ts";

const failed = (name: string, message: string, more: Partial<RunResult> & { traceback?: string } = {}) =>
  packageNeed({
    status: "error",
    stderr: "",
    error: { name, message, traceback: more.traceback ?? "" },
    ...more,
  } as RunResult);

describe("what a failed run wanted of a package index", () => {
  test.each([
    ["requests", "requests"],
    ["sklearn.linear_model", "scikit-learn"],
    ["PIL", "pillow"],
    ["typing_extensions", "typing-extensions"],
  ])("a failed import of %s is the package %s", (module, packageName) => {
    expect(failed("ModuleNotFoundError", `No module named '${module}'`)).toMatchObject({ kind: "module", packageName });
  });

  test.each([
    ["%pip install requests", "SyntaxError"],
    ["!pip3 install requests", "SyntaxError"],
  ])("%s in Python code is an attempt to install", (line, name) => {
    const traceback = `  File "<run 1>", line 1\n    ${line}\n    ^\nSyntaxError: invalid syntax`;
    expect(failed(name, "invalid syntax", { traceback })).toEqual({ kind: "pip" });
  });

  test.each([
    "/bin/bash: line 1: pip: command not found\n",
    "/usr/bin/python3: No module named pip\n",
    "error: externally-managed-environment\n",
    "ERROR: Could not find a version that satisfies the requirement requests\n",
  ])("pip that says %j is an attempt to install", (stderr) => {
    expect(packageNeed({ status: "error", stderr } as RunResult)).toEqual({ kind: "pip" });
  });

  test("other failures, parts of Python and runs that ended well want nothing", () => {
    expect(failed("ValueError", "No module named 'requests'")).toBeUndefined();
    expect(failed("ModuleNotFoundError", "No module named 'tkinter'")).toBeUndefined();
    expect(failed("ModuleNotFoundError", "No module named '\u001b[31m'")).toBeUndefined();
    expect(packageNeed({ status: "ok", stderr: "pip: command not found" } as RunResult)).toBeUndefined();
  });
});
