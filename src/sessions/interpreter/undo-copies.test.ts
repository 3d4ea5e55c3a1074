import { beforeEach, describe, expect, test } from "vitest";
import type { KernelClient } from "../../kernel/client.ts";
import { CodecellError } from "../../lib/errors.ts";
import { Checkpoints } from "./checkpoints.ts";
import { InterpreterLosses } from "./interpreter-losses.ts";
import { UndoCopies } from "./undo-copies.ts";

/** Keeps names instead of copies, in the order of the requests. */
class FakeKernel {
  readonly info = { features: ["checkpoints"] };
  readonly copies = new Set<string>();
  room = 10;

  async checkpoint(name: string): Promise<void> {
    if (this.copies.size >= this.room) throw new CodecellError("too_large", "no room for a copy");
    this.copies.add(name);
  }

  async rollback(name: string): Promise<void> {
    if (!this.copies.has(name)) throw new CodecellError("checkpoint_unknown", "gone");
    if (this.copies.size > this.room) throw new CodecellError("too_large", "rolled back, but no room");
  }

  async forget(name: string): Promise<void> {
    this.copies.delete(name);
  }
}

let kernel: FakeKernel;
beforeEach(() => {
  kernel = new FakeKernel();
});
const undoOf = (most: number) => new UndoCopies(kernel as unknown as KernelClient, most);
const nothing = (text: string) =>
  expect.objectContaining({ code: "nothing_to_undo", message: expect.stringContaining(text) });

describe("copies from before the last runs", () => {
  test("nothing is copied unless the policy allows an undo and the kernel can copy", async () => {
    const off = undoOf(0);
    off.before(1);
    kernel.info.features = [];
    undoOf(3).before(1);
    expect([...kernel.copies]).toEqual([]);
    await expect(off.undo("s")).rejects.toEqual(nothing("no run"));
  });

  test("the last runs are undone one after the other, and never more copies are kept than allowed", async () => {
    const undo = undoOf(2);
    for (const run of [1, 2, 3, 4]) {
      undo.before(run);
      expect(kernel.copies.size).toBeLessThanOrEqual(2);
    }
    expect(undo.left).toBe(2);
    expect(await undo.undo("s")).toBe(4);
    undo.before(5);
    expect(await undo.undo("s")).toBe(5);
    expect(await undo.undo("s")).toBe(3);
    await expect(undo.undo("s")).rejects.toEqual(nothing("session s"));
    expect([...kernel.copies]).toEqual([]);
  });

  test("a run whose copy could not be made is not skipped: an undo of an older run would undo both", async () => {
    const undo = undoOf(3);
    undo.before(1);
    kernel.room = 1;
    undo.before(2);
    await expect(undo.undo("s")).rejects.toEqual(nothing("run 2 cannot be undone"));
    expect([undo.left, kernel.copies.size]).toEqual([0, 0]);
    undo.before(3);
    expect(await undo.undo("s")).toBe(3);
  });

  test("a copy that exited, or that the cell no longer knows, is reported", async () => {
    const undo = undoOf(2);
    undo.before(1);
    const [name = ""] = kernel.copies;
    expect([undo.ended("named"), undo.ended(name)]).toEqual([false, true]);
    await expect(undo.undo("s")).rejects.toEqual(nothing("exited"));
    undo.before(2);
    kernel.copies.clear();
    await expect(undo.undo("s")).rejects.toEqual(nothing("no longer exists"));
  });

  test("an undo without room for another copy has worked all the same", async () => {
    const undo = undoOf(1);
    undo.before(7);
    kernel.room = 0;
    expect(await undo.undo("s")).toBe(7);
  });

  test("they give way to a checkpoint that the caller asks for", async () => {
    const undo = undoOf(2);
    const losses = new InterpreterLosses();
    const checkpoints = new Checkpoints(kernel as unknown as KernelClient, 8, losses, () => undo.giveWay());
    undo.before(1);
    undo.before(2);
    kernel.room = 2;
    await checkpoints.keep("mine", () => 2);
    expect([...kernel.copies]).toEqual(["mine"]);
    await expect(undo.undo("s")).rejects.toEqual(nothing("its memory was needed"));
    kernel.room = 0;
    await expect(checkpoints.keep("two", () => 2)).rejects.toMatchObject({ code: "too_large" });
  });
});
