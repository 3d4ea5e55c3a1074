import { expect, test } from "vitest";
import { CodecellError } from "../../lib/errors.ts";
import { errorText } from "./error-text.ts";

test("says the code, the cause, the hint and what to do next, in text", () => {
  const cause = new Error("ENOENT");
  const error = new CodecellError("runner_unavailable", "bubblewrap is missing", { hint: "apt install it", cause });
  const lines = errorText(error).split("\n");
  expect(lines.slice(0, 3)).toEqual([
    "runner_unavailable: bubblewrap is missing",
    "cause: ENOENT",
    "hint: apt install it",
  ]);
  expect(lines[3]).toMatch(/^next: .*codecell doctor/);
});

test("names only what a model can do, where the hint is for whoever holds the sessions", () => {
  const lines = errorText(new CodecellError("session_culled", "it is over", { hint: "call again" })).split("\n");
  expect(lines).toEqual(["session_culled: it is over", expect.stringMatching(/^next: .*without session_id/)]);
});

test("does not pass on what steers a terminal, nor a text without end", () => {
  const text = errorText(new CodecellError("expression_failed", `\u001b[31mred\u001b[0m ${"x".repeat(50_000)}`));
  expect(text).not.toContain("\u001b");
  expect(text.length).toBeLessThan(10_000);
});

test("answers what nobody expected as our own fault", () => {
  expect(errorText(new TypeError("x is undefined"))).toMatch(/^internal: x is undefined\nnext: /);
});

test("does not tell tenants of a service where it keeps what", () => {
  const text = errorText(new Error("EACCES: '/srv/state'"), true);
  expect(text).toMatch(/^internal: a fault of codecell\n/);
  expect(text).not.toContain("/srv");
});
