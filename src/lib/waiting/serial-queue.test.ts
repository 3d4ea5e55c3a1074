import { describe, expect, test } from "vitest";
import { SerialQueue } from "./serial-queue.ts";

/** A task that records when it starts, and ends when the test says so. */
function task(name: string, started: string[]) {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const run = async () => {
    started.push(name);
    await ended;
    return name;
  };
  return { run, end };
}

const microtasks = () => new Promise((resolve) => setImmediate(resolve));

describe("SerialQueue", () => {
  test("runs tasks one at a time, in the order they were added", async () => {
    const queue = new SerialQueue();
    const started: string[] = [];
    const [a, b, c] = [task("a", started), task("b", started), task("c", started)];
    const done = Promise.all([a, b, c].map(({ run }) => queue.run(run)));
    await microtasks();
    expect(started).toEqual(["a"]);
    expect(queue.waiting).toBe(2);
    b.end(); // it could end at once, but has not started
    c.end();
    await microtasks();
    expect(started).toEqual(["a"]);
    a.end();
    expect(await done).toEqual(["a", "b", "c"]);
    expect(started).toEqual(["a", "b", "c"]);
    expect(queue.waiting).toBe(0);
  });

  test("a task that rejects or throws fails for its caller alone", async () => {
    const queue = new SerialQueue();
    const rejecting = queue.run(() => Promise.reject(new Error("rejected")));
    const throwing = queue.run(() => {
      throw new Error("thrown");
    });
    const next = queue.run(() => "next");
    await expect(rejecting).rejects.toThrow("rejected");
    await expect(throwing).rejects.toThrow("thrown");
    expect(await next).toBe("next");
    await queue.settled();
    expect(queue.isIdle).toBe(true);
  });

  test("a task that is aborted while it waits rejects at once, never starts, and blocks no other", async () => {
    const queue = new SerialQueue();
    const started: string[] = [];
    const first = task("first", started);
    const running = queue.run(first.run);
    const leaving = new AbortController();
    const left = queue.run(task("left", started).run, leaving.signal);
    const next = queue.run(() => "next");
    leaving.abort(new Error("too slow"));
    await expect(left).rejects.toMatchObject({ code: "aborted", message: "aborted while waiting: too slow" });
    first.end();
    expect(await running).toBe("first");
    expect(await next).toBe("next");
    expect(started).toEqual(["first"]);
  });

  test("a task whose signal is already aborted when it is added never starts", async () => {
    const queue = new SerialQueue();
    const started: string[] = [];
    await expect(queue.run(task("late", started).run, AbortSignal.abort())).rejects.toMatchObject({ code: "aborted" });
    expect(started).toEqual([]);
  });

  test("a signal that is aborted after the task has started does not affect it", async () => {
    const queue = new SerialQueue();
    const running = task("running", []);
    const late = new AbortController();
    const done = queue.run(running.run, late.signal);
    await microtasks();
    late.abort();
    running.end();
    expect(await done).toBe("running");
  });

  test("waits for work that was passed to follow, even if it fails", async () => {
    const queue = new SerialQueue();
    const started: string[] = [];
    let fail = (_: Error) => {};
    queue.follow(
      new Promise((_, reject) => {
        fail = reject;
      }),
    );
    const next = task("next", started);
    const done = queue.run(next.run);
    await microtasks();
    expect(started).toEqual([]);
    expect(queue.isIdle).toBe(false);
    fail(new Error("no"));
    next.end();
    expect(await done).toBe("next");
  });
});
