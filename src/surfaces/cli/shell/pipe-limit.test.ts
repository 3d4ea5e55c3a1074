import { expect, test } from "vitest";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import { pipeLimit } from "./pipe-limit.ts";

const [pipe, screen] = [{ isTTY: false }, { isTTY: true }];

test("a pipe gets 64 MiB of output if the policy has the default limit, and a terminal gets the default", () => {
  expect(pipeLimit(parsePolicy({}), pipe)).toEqual({ outputBytes: 64 * 2 ** 20 });
  expect(pipeLimit(parsePolicy({}), screen)).toEqual({});
});

test.each(["64KiB", "2MiB", "1GiB"])("a pipe gets %s of output if the policy says so", (output) => {
  expect(pipeLimit(parsePolicy({ proc: { output } }), pipe)).toEqual({});
});
