import { expect, test } from "vitest";
import { expressionFor } from "./expression-for.ts";

test.each([
  ["rows", "rows"],
  ["größe_2", "größe_2"],
  ["x; import os", 'globals()["x; import os"]'],
  ['a"b\n', 'globals()["a\\"b\\n"]'],
  ["", 'globals()[""]'],
])("the variable %j is read with %s", (name, expression) => {
  expect(expressionFor(name)).toBe(expression);
});
