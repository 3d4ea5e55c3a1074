import { expect, test } from "vitest";
import { parseArguments } from "./arguments.ts";

const options = {
  json: { type: "boolean", help: "" },
  timeout: { type: "string", help: "" },
  code: { type: "string", short: "c", help: "" },
  mount: { type: "string", multiple: true, help: "" },
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
  [["-c", "x = 1", "-c", "print(2)"], "-c"],
  [["--code", "1", "-c2"], "-c"],
  [["--timeout", "3s", "a.py", "--timeout=3s"], "--timeout"],
])("an option that takes one value is refused the second time: %j", (argv, name) => {
  const message = `${name} is given more than once, and only one value can count`;
  expect(() => parse(...argv)).toThrow(expect.objectContaining({ code: "usage", message }));
});

test("an option that is repeated behind the program says how to pass it to the program", () => {
  const argv = ["--timeout", "3s", "a.py", "--timeout", "9"];
  const hint = expect.stringContaining("put `--` before it: `-- --timeout`");
  const run = () => parseArguments("run", argv, options, 9, { forProgram: true });
  expect(run).toThrow(expect.objectContaining({ hint }));
  expect(() => parse(...argv)).toThrow(expect.not.objectContaining({ hint }));
});

test("switches, repeatable options and what is behind -- may be repeated", () => {
  const { values } = parse("--json", "--json", "--mount", "a:b", "--mount", "c:d");
  expect({ ...values }).toEqual({ json: true, mount: ["a:b", "c:d"] });
  const { values: own, afterDashes } = parseArguments("run", ["-c", "1", "--", "-c", "2", "-c"], options, 9);
  expect([own.code, afterDashes]).toEqual(["1", ["-c", "2", "-c"]]);
});

test.each([
  ["--time-limit", "--timeout"],
  ["-t", "--timeout"],
  ["--command", "--code"],
])("the option %s of another tool is answered with our %s", (written, ours) => {
  expect(() => parse(written, "3")).toThrow(`unknown option "${written}"; did you mean ${ours}?`);
});
