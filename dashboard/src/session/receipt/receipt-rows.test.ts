import { expect, test } from "vitest";
import { chosenRules, splitNotes } from "./receipt-rows.ts";

const rules = [
  { rule: "proc.memory", value: "512 MiB", by: "kernel", how: "cgroup" },
  { rule: "fs.deny", value: ".env", by: "nobody", how: "the runner has no such files" },
];
const names = (text: string, isOpenOnly = false) => chosenRules(rules, text, isOpenOnly).map(({ rule }) => rule);

test("rules are found by any of their texts", () => {
  expect(names("")).toEqual(["proc.memory", "fs.deny"]);
  expect(names("CGROUP")).toEqual(["proc.memory"]);
  expect(names(".env")).toEqual(["fs.deny"]);
});

test("those that nobody enforces can be shown alone", () => {
  expect(names("", true)).toEqual(["fs.deny"]);
  expect(names("memory", true)).toEqual([]);
});

test("runners that were skipped are apart from other notes", () => {
  expect(splitNotes(["not gvisor: runsc is missing: install it", "a note", "not a note"])).toEqual({
    skipped: [{ runner: "gvisor", reason: "runsc is missing: install it" }],
    others: ["a note", "not a note"],
  });
});
