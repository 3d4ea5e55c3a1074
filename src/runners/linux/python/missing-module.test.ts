import { expect, test } from "vitest";
import { preloadFailure } from "../../../kernel/preload-failure.ts";
import { missingModuleHint } from "./missing-module.ts";

const trace = `Traceback (most recent call last):
  File "<string>", line 6, in <module>
ImportError: kernel.preload: pandas.io cannot be imported: No module named 'pandas'
`;

test("names the missing module without the traceback", () => {
  const error = preloadFailure(trace, (module) => `get ${module}`);
  expect(error).toMatchObject({
    code: "cell_start_failed",
    message: "kernel.preload: pandas.io cannot be imported: No module named 'pandas'",
    hint: "get pandas.io",
    details: { rule: "kernel.preload", module: "pandas.io" },
  });
});

test("any other failure of the start is not about a module", () => {
  expect(preloadFailure("MemoryError", () => "")).toBeUndefined();
});

test.each([
  [
    "/usr/bin/python3.11",
    "`sudo apt install python3-pandas` (Debian, Ubuntu), or `/usr/bin/python3.11 -m pip install pandas`",
  ],
  ["/opt/venv/bin/python", "`/opt/venv/bin/python -m pip install pandas`"],
])("the hint names the interpreter %s that lacks it", (executable, install) => {
  expect(missingModuleHint({ executable })("pandas.io")).toBe(
    `name it in kernel.packages (codecell run --with pandas); or install it: ${install}; or set kernel.python to an interpreter that has it, or remove it from kernel.preload`,
  );
});
