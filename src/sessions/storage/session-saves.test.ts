import { expect, test, vi } from "vitest";
import { CodecellError } from "../../lib/errors.ts";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import { InterpreterLosses } from "../interpreter/interpreter-losses.ts";
import type { LiveSession } from "../live-session.ts";
import { type SavedSession, SessionSaves } from "./session-saves.ts";
import type { HeldSession, SessionStorage } from "./session-storage.ts";

/** Saves of a fake session into a fake store, whose last step takes as long as the test says. */
function fakeSaves() {
  const released: (() => void)[] = [];
  const held = {
    writeSnapshot: async () => ({ file: "x", bytes: 0, sha256: "" }),
    write: async () => {},
    markUnsaved: async () => {},
    pruneSnapshots: () => new Promise<void>((resolve) => released.push(resolve)),
  } as unknown as HeldSession;
  let snapshots = 0;
  const session = {
    ...{ pythonVersion: "3.99.0", receipt: { runner: "fake" }, isAlive: true, isBusy: false, stateRun: 1 },
    losses: new InterpreterLosses(),
    addNote() {},
    snapshot: async () => {
      snapshots++;
      return Buffer.alloc(0);
    },
  } as unknown as LiveSession;
  const record = {
    version: 1,
    id: "s",
    workspace: "w",
    createdMs: 0,
    usedMs: 0,
    runs: 1,
    snapshot: undefined,
  } as const;
  const of: SavedSession = { id: "s", key: "s", record, held, live: session };
  const saves = new SessionSaves(of, {} as SessionStorage, parsePolicy({ session: { persist: true } }), () => 0);
  const release = async () => {
    await expect.poll(() => released.length).toBeGreaterThan(0);
    released.shift()?.();
  };
  return { saves, session, release, snapshots: () => snapshots };
}

test("a save that is requested during another save contains what changed since that one began", async () => {
  const { saves, session, release, snapshots } = fakeSaves();
  await saves.changing();
  const first = saves.save(session);
  await expect.poll(snapshots).toBe(1);
  await saves.changing();
  const second = saves.save(session);
  expect(saves.save(session)).toBe(second);
  await release();
  await first;
  expect(saves.isDirty).toBe(true);
  await release();
  await second;
  expect([snapshots(), saves.isDirty, saves.isSaving]).toEqual([2, false, false]);
});

test("a session under steady use is saved within ten seconds, although no pause is long enough", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  try {
    const { saves, snapshots } = fakeSaves();
    for (let run = 0; run < 24; run++) {
      void saves.changing();
      saves.changed();
      await vi.advanceTimersByTimeAsync(400);
    }
    expect(snapshots()).toBe(0);
    for (let run = 0; run < 3; run++) {
      void saves.changing();
      saves.changed();
      await vi.advanceTimersByTimeAsync(400);
    }
    expect(snapshots()).toBe(1);
  } finally {
    vi.useRealTimers();
  }
});

test("a crash just before an automatic save does not end automatic saves", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  try {
    const { saves, session, snapshots } = fakeSaves();
    const state = session as { stateRun: number };
    const crashed = vi.spyOn(session, "snapshot").mockImplementationOnce(async () => {
      state.stateRun = 0; // the interpreter went back to an older copy
      return Buffer.alloc(0);
    });
    const change = async () => {
      void saves.changing();
      saves.changed();
      await vi.advanceTimersByTimeAsync(2_500);
    };
    await change();
    expect([crashed.mock.calls.length, snapshots()]).toEqual([1, 0]);
    state.stateRun = 2;
    await change();
    expect(snapshots()).toBe(1);
  } finally {
    vi.useRealTimers();
  }
});

test("saves that are requested at the same time are one save", async () => {
  const { saves, session, release, snapshots } = fakeSaves();
  await saves.changing();
  const both = [saves.save(session), saves.save(session)];
  await release();
  await Promise.all(both);
  expect([snapshots(), saves.isDirty]).toEqual([1, false]);
});

/** A session with a save whose variables cannot be restored, because of `failure`. */
function failingRestore(failure: unknown) {
  const notes: string[] = [];
  const snapshot = { sha256: "0".repeat(64), bytes: 1, savedMs: 1, run: 1, python: "3.99.0", runner: "fake" };
  const store = { isUnsaved: async () => false, readSnapshot: () => Promise.reject(failure) };
  const live = { features: [], addNote: (note: string) => notes.push(note) } as unknown as LiveSession;
  const record = { version: 1 as const, id: "s", workspace: "w", createdMs: 0, usedMs: 0, runs: 1 };
  const saved = { ...snapshot, saved: [], skipped: [] };
  const of = { id: "s", key: "s", record: { ...record, snapshot: saved, unreported: ["a loss"] } };
  const policy = parsePolicy({ session: { persist: true } });
  const session = { ...of, held: {} as HeldSession, live: undefined };
  const saves = new SessionSaves(session, store as unknown as SessionStorage, policy, () => 0);
  return { saves, live, notes, session };
}

test.each([
  ["service_unavailable", "rejects"],
  ["session_busy", "rejects"],
  ["cell_lost", "rejects"],
  ["expression_failed", "rejects"],
  ["too_large", "rejects"],
  ["snapshot_damaged", "starts without its variables"],
  ["variable_unserializable", "starts without its variables"],
  ["not_supported", "starts without its variables"],
] as const)("a session whose variables cannot be restored because of %s %s", async (code, outcome) => {
  const { saves, live, notes, session } = failingRestore(new CodecellError(code, "not now"));
  if (outcome === "rejects") {
    await expect(saves.restoreInto(live)).rejects.toMatchObject({ code });
    expect(session.record.unreported).toEqual(["a loss"]); // the next try tells it
    return;
  }
  const isBroken = code === "variable_unserializable";
  expect(await saves.restoreInto(live)).toMatchObject({ problem: { code: isBroken ? "snapshot_damaged" : code } });
  const reason = isBroken ? "the saved variables of session s are damaged: not now" : "not now";
  expect(notes).toEqual(["a loss", `${reason}; the session starts without its variables`]);
  expect(session.record.unreported).toBeUndefined();
});

test("a session that cannot be restored because no file can be opened says that its save is unchanged", async () => {
  const failure = Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE", syscall: "open" });
  const { saves, live } = failingRestore(failure);
  await expect(saves.restoreInto(live)).rejects.toMatchObject({
    code: "cell_start_failed",
    message: "session s could not be restored: EMFILE: too many open files",
    hint: expect.stringContaining("its save is unchanged: try again"),
  });
});

test("a mark that cannot be written is tried again by the next run, and the result says that nothing is saved", async () => {
  const notes: string[] = [];
  let marks = 0;
  const markUnsaved = async () => {
    if (++marks === 1) throw new CodecellError("service_unavailable", "the database (x on 10.0.0.1:5432) is away");
  };
  const live = { addNote: (note: string) => notes.push(note) } as unknown as LiveSession;
  const record = { version: 1 as const, id: "s", workspace: "w", createdMs: 0, usedMs: 0, runs: 1 };
  const of = { id: "s", key: "s", record, held: { markUnsaved } as unknown as HeldSession, live };
  const saves = new SessionSaves(of, {} as SessionStorage, parsePolicy({ session: { persist: true } }), () => 0);
  await saves.changing();
  expect(notes).toEqual([
    "this run is not saved, and is lost with its cell: the store of sessions cannot be reached at the moment",
  ]);
  await saves.changing();
  await saves.changing();
  expect([marks, notes.length]).toEqual([2, 1]);
});
