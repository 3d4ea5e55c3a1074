import { expect, test } from "vitest";
import type { SessionRecord } from "../../../sessions/storage/session-record.ts";
import { filesRemarks, filesTable } from "./format-files.ts";
import { sessionFactsText } from "./format-session.ts";
import { saveJson, sessionRemarks } from "./format-session-run.ts";
import { sessionsText } from "./format-sessions.ts";
import { restoreText, snapshotText } from "./format-snapshot.ts";
import { formatAge } from "./text/format-age.ts";
import { plainStyle } from "./text/style.ts";

const snapshot = {
  ...{ sha256: "ab".repeat(32), bytes: 2048, savedMs: 1000, run: 3, python: "3.11.2", runner: "process" },
  saved: ["x", "f"],
  skipped: [{ name: "conn", reason: "TypeError: cannot pickle\u001b[2J" }],
};
const record: SessionRecord = {
  ...{ version: 1, id: "work", workspace: "m0-1", createdMs: 0, usedMs: 60_000, runs: 3, snapshot },
};

test("the list of sessions shows age, runner and variables, and a damaged session without them", () => {
  const sessions = [
    { id: "work", state: "saved", record } as const,
    { id: "new", state: "live", record: { ...record, runs: 0, snapshot: undefined } } as const,
    { id: "broken", state: "damaged", problem: "cannot be read" } as const,
  ];
  expect(sessionsText(sessions, 3_600_000, plainStyle, 100).split("\n")).toEqual([
    "ID      STATE    RUNS  AGE  LAST USE  RUNNER   VARIABLES",
    "work    saved    3     60m  59m ago   process  2 (1 not saved)",
    "new     live     0     60m  59m ago   -        none saved",
    "broken  damaged  -     -    -         -        -",
    "",
  ]);
  expect(sessionsText([], 0, plainStyle, 80)).toBe("no sessions\n");
});

test("the view of a session shows its save, last runs and files, and none of them can forge a line", () => {
  const entry = { run: 3, atMs: 0, language: "python", code: "print(1)\u001b[2J\nx", status: "ok", durationMs: 1.6 };
  const files = { files: [{ path: "a\nb", size: 5, modifiedMs: 0 }], leftOut: 0, truncated: false, next: "a" };
  const text = sessionFactsText({ state: "saved", record, history: [entry], files }, 60_000, plainStyle, 200);
  expect(text).toContain("work: saved, 3 runs, 60s old, used 0s ago\n");
  expect(text).toContain("not saved: conn (TypeError: cannot pickle\ufffd[2J)\n");
  expect(text).toContain("3    python    ok      2 ms  print(1)\ufffd[2J … (1 more lines)\n");
  expect(text).toContain("5 B   1970-01-01 00:00  a\ufffdb\n");
  expect(text).toContain("codecell artifacts ls work");
  expect(sessionFactsText({ state: "saved", record, history: [], files: undefined }, 0, plainStyle, 80)).toContain(
    "no workspace on this host",
  );
});

test("remarks on a page of files name what it does not show", () => {
  expect(filesRemarks({ files: [], leftOut: 0, truncated: false })).toEqual([]);
  expect(filesRemarks({ files: [], leftOut: 2, truncated: true, next: "a b" })).toEqual([
    'there are more files; continue with --after "a b"',
    expect.stringContaining("2 entries are not listed"),
    expect.stringContaining("too many entries"),
  ]);
  expect(filesTable([{ path: "x", size: 1, modifiedMs: 1e300 }], plainStyle, 80)).toContain("1 B   -");
});

test("a save lists its variables, and a restore lists what was restored", () => {
  expect(snapshotText(snapshot, plainStyle)).toContain("saved after run 3: 2 variables, 2 KiB");
  const failed = [{ name: "f", reason: "no module" }];
  const report = { snapshot, failed, problem: undefined, note: "" };
  expect(restoreText("work", report, plainStyle)).toBe(
    "session work: restored 1 variable from the save after run 3\n  x\n" +
      "not restored: f (no module)\nnever saved: conn (TypeError: cannot pickle\ufffd[2J)\n",
  );
});

test("remarks on a run name its first files and what could not be saved", () => {
  const artifact = { size: 2048, mimeType: "text/csv", sha256: "", modifiedMs: 0 };
  const artifacts = Array.from({ length: 22 }, (_, index) => ({ ...artifact, name: `f${index}.csv` }));
  const kept = { saved: snapshot, problem: undefined, exitCode: 0 };
  const remarks = sessionRemarks("work", { artifacts, leftOut: [], runner: "process" }, kept, { hasFiles: true });
  expect(remarks[0]).toBe("wrote f0.csv (2 KiB)");
  expect(remarks.slice(20)).toEqual([
    "… and 2 more files; `codecell artifacts ls work` lists them",
    "not saved: conn (TypeError: cannot pickle\ufffd[2J)",
  ]);
  const gone = sessionRemarks(
    "work",
    { artifacts: artifacts.slice(0, 1), leftOut: [], runner: "wasm" },
    { saved: undefined, problem: "nothing was saved", exitCode: 0 },
    { hasFiles: false },
  );
  expect(gone).toEqual([
    "wrote f0.csv (2 KiB)",
    "the wasm runner does not keep these files after this call",
    "nothing was saved",
  ]);
  const files = { sha256: "", count: 1, bytes: 2048, skipped: [{ name: "link", reason: "a link" }], skippedCount: 1 };
  const savedFiles = sessionRemarks(
    "work",
    { artifacts: artifacts.slice(0, 1), leftOut: [], runner: "wasm" },
    { ...kept, saved: { ...snapshot, skipped: [], files } },
    { hasFiles: false },
  );
  expect(savedFiles).toEqual(["wrote f0.csv (2 KiB)", "not saved: link (a link)"]);
  expect(saveJson("work", kept)).toMatchObject({
    snapshot: { session_id: "work", variables: ["x", "f"] },
    problem: null,
  });
});

test.each([
  [-5, "0s"],
  [90_000, "90s"],
  [3_600_000, "60m"],
  [26 * 3_600_000, "26h"],
  [72 * 3_600_000, "3d"],
])("formatAge shows %i ms as %s", (ms, text) => expect(formatAge(ms)).toBe(text));
