import { expect, test } from "vitest";
import { SessionSlots } from "./session-slots.ts";

const isOpen = () => {};

test("a caller who does not wait is refused at once if every slot is taken", async () => {
  const slots = new SessionSlots(2, () => 1);
  const release = await slots.reserve(0, isOpen);
  await expect(slots.reserve(0, isOpen)).rejects.toMatchObject({ code: "session_limit" });
  expect(slots.isFull).toBe(true);
  release();
  expect(slots.isFull).toBe(false);
});

test("waiting callers get slots in the order they came when sessions close", async () => {
  let alive = 1;
  const slots = new SessionSlots(1, () => alive);
  const served: string[] = [];
  const wait = async (name: string) => {
    const release = await slots.reserve(60_000, isOpen);
    served.push(name);
    release();
  };
  const both = [wait("first"), wait("second")];
  alive = 0;
  slots.recheck();
  await Promise.all(both);
  expect(served).toEqual(["first", "second"]);
});

test("a waiting caller is refused when its wait times out", async () => {
  const slots = new SessionSlots(1, () => 1);
  await expect(slots.reserve(1, isOpen)).rejects.toMatchObject({ code: "session_limit" });
});

test("waiting callers get an error when everything closes", async () => {
  const slots = new SessionSlots(1, () => 1);
  let isClosed = false;
  const waiting = slots.reserve(60_000, () => {
    if (isClosed) throw new Error("closed");
  });
  isClosed = true;
  slots[Symbol.dispose]();
  await expect(waiting).rejects.toThrow("closed");
});
