import { expect } from "vitest";
import { type Attack, printed } from "./attacked.ts";

/** Names that would lead to a model. */
const modelNames = ["llm_query", "llm_query_batched", "rlm_query", "rlm_query_batched", "SUBMIT", "budget"];

/** Which of these names a program finds: among its own, in builtins, and in every module of the kernel. */
const findNames = (names: readonly string[]) => `
import builtins
modules = [module for name, module in list(sys.modules.items()) if name.startswith("codecell")]
places = [globals(), vars(builtins), *[vars(module) for module in modules]]
print(json.dumps([name for name in ${JSON.stringify(names)} if any(name in place for place in places)]))`;

/** A program that looks everywhere finds no function that calls a model. */
export const noModelFunctions: Attack = async ({ session }) => {
  expect(await printed(await session(), findNames(modelNames))).toEqual([]);
};

/** Modules that Python's own builtins come from. */
const pythonModules = ["builtins", "_sitebuiltins", "_io", "io", "_frozen_importlib", "importlib._bootstrap"];

/** The kernel's own functions: what they do stays in the cell. */
const kernelNames = ["input", "display"];

/** Every other function that a program has without an import is Python's own: none leads to a server. */
export const noToolFunctions: Attack = async ({ session }) => {
  const code = `
import builtins
places = {**vars(builtins), **{name: value for name, value in globals().items() if name not in ("json", "os", "sys")}}
foreign = [name for name, value in places.items() if callable(value) and name not in ${JSON.stringify(kernelNames)}
    and getattr(value, "__module__", None) not in (None, *${JSON.stringify(pythonModules)})
    and getattr(type(value), "__module__", None) not in ("_sitebuiltins", "_frozen_importlib")]
print(json.dumps(foreign))`;
  expect(await printed(await session(), code)).toEqual([]);
};
