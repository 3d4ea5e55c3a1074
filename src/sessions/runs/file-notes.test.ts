import { expect, test } from "vitest";
import type { LeftOut } from "../../artifacts/artifact.ts";
import { fileNotes } from "./file-notes.ts";

const done = { t: "done", id: 1, status: "ok", state: "kept", stdoutBytes: 0, stderrBytes: 0, notes: [] } as const;
const refused = (name: string): LeftOut => ({ name, reason: "refused", message: `${name} is denied` });

test("a run whose files are all listed needs no note about files", () => {
  expect(fileNotes({ ...done, notes: [], filesComplete: true }, { leftOut: [refused(".env")] })).toEqual([]);
});

test("the notes of a run name the hooks that it planted, and say how many files are not listed", () => {
  const hooks = Array.from({ length: 7 }, (_, n) => refused(`.git/hooks/h${n}`));
  const found = { leftOut: [...hooks, refused(".env")], leftOutCount: 40 };
  expect(fileNotes({ ...done, notes: [], filesComplete: false }, found)).toEqual([
    expect.stringMatching(/tools on the host run or obey.*: \.git\/hooks\/h0, .*\.git\/hooks\/h4 and 2 more$/),
    "32 more changed files are not artifacts and are not listed",
    "more files changed than a run can list: look through the workspace",
  ]);
});
