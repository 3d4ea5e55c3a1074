import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import vm from "node:vm";
import { describe, expect, test } from "vitest";
import { pyodideScripts } from "./pyodide-text.ts";

const require = createRequire(import.meta.url);
const read = (name: string) => readFileSync(require.resolve(`pyodide/${name}`), "utf8");
const engineModule = read("pyodide.asm.mjs");
const loaderModule = read("pyodide.mjs");

describe("pyodideScripts", () => {
  test("returns function expressions that parse as classic scripts", () => {
    const { engine, loader } = pyodideScripts(engineModule, loaderModule);
    for (const text of [engine, loader]) expect(typeof new vm.Script(text).runInNewContext()).toBe("function");
  });

  test("removes dynamic imports and direct evals, which would reach the host's loader or kill the interpreter", () => {
    const { engine, loader } = pyodideScripts(engineModule, loaderModule);
    for (const text of [engine, loader]) {
      expect(text).not.toMatch(/(?<![\w$.])import\s*[(.]/);
      expect(text).not.toMatch(/(?<![\w$.])eval\(/);
    }
    expect(engine).toContain("noImport(");
    expect(engine).toContain("noEval(");
  });

  test("makes the heap's maximum a parameter, because a code cache would keep a number in the text", () => {
    const { engine } = pyodideScripts(engineModule, loaderModule);
    expect(engine).toContain("getHeapMax=()=>heapMax");
    expect(engine).not.toContain("4294901760");
  });

  test("reads and clears the interrupt in one step", () => {
    const { engine } = pyodideScripts(engineModule, loaderModule);
    expect(engine).toContain("return Atomics.exchange(Module.Py_EmscriptenSignalBuffer,0,0)");
  });

  test.each([
    ["the export", "export default _createPyodideModule;"],
    ["the heap's ceiling", "getHeapMax=()=>4294901760"],
    ["the interrupt", "Module.Py_EmscriptenSignalBuffer[0]=0"],
  ])("rejects a text in which %s has changed", (_what, part) => {
    expect(() => pyodideScripts(engineModule.replace(part, "changed"), loaderModule)).toThrow("text has changed");
  });

  test("rejects unknown module syntax", () => {
    expect(() => pyodideScripts(`import * as x from "y";${engineModule}`, loaderModule)).toThrow(
      "unknown module syntax",
    );
    expect(() => pyodideScripts(`import ("y");${engineModule}`, loaderModule)).toThrow("unknown module syntax");
  });
});
