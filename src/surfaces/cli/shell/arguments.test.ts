import { expect, test } from "vitest";
import { parseArguments } from "./arguments.ts";

const options = {
  json: { type: "boolean", help: "" },
  timeout: { type: "string", help: "" },
  code: { type: "string", short: "c", help: "" },
} as const;
const parse = (...argv: string[]) => parseArguments("run", argv, options, 1);

test("options may come before and after the operand", () => {
  const { values, positionals } = parse("--json", "a.py", "--timeout", "3s");
  expect({ ...values, positionals }).toEqual({ json: true, timeout: "3s", positionals: ["a.py"] });
});

test("a dash is an operand, and everything after -- is taken literally", () => {
  expect(parse("-").positionals).toEqual(["-"]);
  expect(parse("--", "--json").positionals).toEqual(["--json"]);
});

test("an unknown option is rejected with a suggestion", () => {
  expect(() => parse("--tiemout", "3s")).toThrow('unknown option "--tiemout"; did you mean --timeout?');
});

test.each([[["--timeout"]], [["--json=1"]], [["a", "b"]], [["-x"]]])("the arguments %j are a usage error", (argv) => {
  expect(() => parse(...argv)).toThrow(expect.objectContaining({ code: "usage" }));
});

test.each([
  ["--time-limit", "--timeout"],
  ["-t", "--timeout"],
  ["--command", "--code"],
])("the option %s of another tool is answered with our %s", (written, ours) => {
  expect(() => parse(written, "3")).toThrow(`unknown option "${written}"; did you mean ${ours}?`);
});
