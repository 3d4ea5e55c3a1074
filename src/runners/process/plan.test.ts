import { expect, test } from "vitest";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import type { PolicyInput } from "../../policy/schema.ts";
import { planProcess } from "./plan.ts";
import type { ProcessFacts } from "./process-facts.ts";

const host = { bubblewrap: "0.8.0", layout: "template", cpus: 2, seesDescriptors: true } as const;
const cgroups = { kind: "none", reason: "for this test" } as const;
const writable: PolicyInput = { fs: { workspace: "/srv/project" } };

function notesOf(users: ProcessFacts["users"], policy: PolicyInput = {}, hasSubordinateUids = false): string {
  return planProcess(parsePolicy(policy), { ...host, cgroups, users, hasSubordinateUids }).notes.join("\n");
}

test("the receipt says how an ordinary user can give each cell a uid, where that is possible", () => {
  expect(notesOf("caller", {}, true)).toContain("unshare --user --map-root-user --map-auto");
  expect(notesOf("caller", {}, false)).not.toContain("unshare");
  // a cell must be the owner of what it writes
  expect(notesOf("caller", writable, true)).not.toContain("unshare");
});

test("the receipt of a cell with its own user id names nobody who shares its limits", () => {
  expect(notesOf("session")).not.toContain("counts per user");
});

test.each([
  ["the other cells of this policy", "policy", {}],
  ["other programs of the user who runs codecell", "caller", {}],
  ["other programs of the user who runs codecell", "caller", writable],
  ["other programs of the owner of its writable directories", "session", writable],
  ["other programs of the owner of its writable directories", "policy", writable],
] as const)("the receipt says that a cell shares limits with %s", (others, users, policy) => {
  expect(notesOf(users, policy)).toContain(`the cell and ${others} share limits that Linux counts per user`);
});
