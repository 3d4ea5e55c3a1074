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
