import { expect, test } from "vitest";
import { Places } from "./places.ts";

const isOpen = () => {};

test("a caller who does not wait is refused at once where every place is taken", async () => {
  const places = new Places(2, () => 1);
  const release = await places.reserve(0, isOpen);
  await expect(places.reserve(0, isOpen)).rejects.toMatchObject({ code: "session_limit" });
  expect(places.areTaken).toBe(true);
  release();
  expect(places.areTaken).toBe(false);
});

test("callers who wait get places in the order they came, when a session is gone", async () => {
  let alive = 1;
  const places = new Places(1, () => alive);
  const served: string[] = [];
  const wait = async (name: string) => {
    const release = await places.reserve(60_000, isOpen);
    served.push(name);
    release();
  };
  const both = [wait("first"), wait("second")];
  alive = 0;
  places.lookAgain();
  await Promise.all(both);
  expect(served).toEqual(["first", "second"]);
});

test("a caller whose time is over is refused", async () => {
  const places = new Places(1, () => 1);
  await expect(places.reserve(1, isOpen)).rejects.toMatchObject({ code: "session_limit" });
});

test("callers who wait learn that everything is closed", async () => {
  const places = new Places(1, () => 1);
  let isClosed = false;
  const waiting = places.reserve(60_000, () => {
    if (isClosed) throw new Error("closed");
  });
  isClosed = true;
  places[Symbol.dispose]();
  await expect(waiting).rejects.toThrow("closed");
});
