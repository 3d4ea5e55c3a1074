import { expect, test } from "vitest";
import { checkVariableName } from "./variable-name.ts";

test.each(["class", "None", "True", "await", "__builtins__", "__name__", "ｃｌａｓｓ"])(
  "%s cannot be set as a variable",
  (name) => {
    expect(() => checkVariableName(name)).toThrow(expect.objectContaining({ code: "usage" }));
  },
);

test.each(["rows", "_", "__private", "match", "type", "print", "größe"])("%s can be set as a variable", (name) => {
  expect(() => checkVariableName(name)).not.toThrow();
});

test.each(["1x", "a b", "", "x.y", "x\n", "x[0]", "x-y"])("%j is refused, with what a name may have", (name) => {
  const refusal = { code: "usage", hint: "use letters, digits and underscores, not a digit first" };
  expect(() => checkVariableName(name)).toThrow(expect.objectContaining(refusal));
});
