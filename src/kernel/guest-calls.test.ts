import { expect, test } from "vitest";
import { GuestFailure } from "../lib/guest-failure.ts";
import { GuestCalls, type OnGuestCall } from "./guest-calls.ts";
import type { HostMessage } from "./messages.ts";

type Sent = { readonly message: HostMessage; readonly body: string };

function opened(answer: OnGuestCall) {
  const sent: Sent[] = [];
  const calls = new GuestCalls(
    (message, body) => sent.push({ message, body: Buffer.from(body ?? []).toString() }),
    answer,
  );
  const call = (number: number, data: string, run = 1, isRunning = true) =>
    calls.receive(
      { t: "call", id: run, call: number, name: "f", size: Buffer.byteLength(data) },
      Buffer.from(data),
      isRunning,
    );
  return { calls, call, sent };
}

test("an answer carries the number of its call and its full size", async () => {
  const { call, sent } = opened(async ({ arguments: data }) => Buffer.from(`[${data}]`));
  call(7, "{}");
  await expect
    .poll(() => sent)
    .toEqual([{ message: { t: "answer", id: 1, call: 7, ok: true, size: 4 }, body: "[{}]" }]);
});

test("arguments in pieces are joined, and pieces beyond the announced size end the cell", async () => {
  const { calls, sent } = opened(async ({ arguments: data }) => data);
  calls.receive({ t: "call", id: 1, call: 1, name: "f", size: 4 }, Buffer.from("[1"), true);
  expect(() => calls.receive({ t: "call", id: 1, call: 1 }, Buffer.from(",2,3]"), true)).toThrow("more arguments");
  calls.receive({ t: "call", id: 1, call: 1 }, Buffer.from(",]"), true);
  await expect.poll(() => sent.map(({ body }) => body)).toEqual(["[1,]"]);
});

test("a call of a run that is not running is ignored", () => {
  const { call, sent } = opened(async () => Buffer.from("1"));
  call(1, "{}", 1, false);
  expect(sent).toEqual([]);
});

test("the end of a run aborts its calls, and their answers are not sent", async () => {
  const signals: AbortSignal[] = [];
  let finish = (_: Uint8Array) => {};
  const { calls, call, sent } = opened(({ signal }) => {
    signals.push(signal);
    return new Promise((resolve) => {
      finish = resolve;
    });
  });
  call(1, "{}");
  calls.endRun(1);
  expect(signals[0]?.aborted).toBe(true);
  finish(Buffer.from("1"));
  await new Promise(setImmediate);
  expect(sent).toEqual([]);
});

test("a call that the program no longer waits for is aborted, and its answer is not sent", async () => {
  const reasons: unknown[] = [];
  const { calls, call, sent } = opened(
    ({ signal }) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          reasons.push((signal.reason as Error).message);
          resolve(Buffer.from("1"));
        });
      }),
  );
  call(1, "{}");
  calls.drop(1);
  calls.drop(2);
  await new Promise(setImmediate);
  expect([reasons, sent]).toEqual([["the program no longer waits for it"], []]);
});

test("a failure that is not meant for the program keeps its message on the host", async () => {
  const failures = [new Error("key sk-123 is wrong"), new GuestFailure("ValueError", "too far")];
  const { call, sent } = opened(() => Promise.reject(failures.shift()));
  call(1, "{}");
  await expect.poll(() => sent.length).toBe(1);
  call(2, "{}");
  await expect.poll(() => sent.length).toBe(2);
  expect(sent.map(({ message }) => "error" in message && message.error)).toEqual([
    { type: "HostError", message: "the function failed on the host" },
    { type: "ValueError", message: "too far" },
  ]);
});

test("a flood of calls ends the cell before it fills the host's memory", () => {
  const { call } = opened(() => new Promise(() => {}));
  expect(() => {
    for (let number = 0; number < 1_000; number++) call(number, "{}");
  }).toThrow("exceeds the protocol's limits");
  const { call: large } = opened(() => new Promise(() => {}));
  const data = `"${"x".repeat(15 * 1024 * 1024)}"`;
  expect(() => {
    for (let number = 0; number < 10; number++) large(number, data);
  }).toThrow("more arguments");
});

test("a large answer waits for credit, so a program that does not read it fills no memory", async () => {
  const { calls, call, sent } = opened(async () => Buffer.alloc(3 * 1024 * 1024, 32));
  call(1, "{}");
  const bytes = () => sent.reduce((sum, { body }) => sum + body.length, 0);
  await expect.poll(bytes).toBe(1024 * 1024);
  await new Promise(setImmediate);
  expect(bytes()).toBe(1024 * 1024);
  calls.grant(1024 * 1024);
  await expect.poll(bytes).toBe(2 * 1024 * 1024);
});

test("a piece of arguments does not keep the frame that it came in", async () => {
  const { calls, sent } = opened(async ({ arguments: data }) => data);
  const data = "[1,2,3]";
  const frame = Buffer.alloc(1); // the same for every piece: whatever is kept of it is overwritten
  calls.receive({ t: "call", id: 1, call: 1, name: "f", size: data.length }, Buffer.alloc(0), true);
  for (const byte of Buffer.from(data)) {
    frame[0] = byte;
    calls.receive({ t: "call", id: 1, call: 1 }, frame, true);
  }
  await expect.poll(() => sent.map(({ body }) => body)).toEqual([data]);
});

test("an empty piece after the last one does not start a call again", () => {
  let started = 0;
  const { calls, call } = opened(() => {
    started++;
    return new Promise(() => {});
  });
  call(1, "{}");
  call(2, "");
  for (let count = 0; count < 5; count++) {
    calls.receive({ t: "call", id: 1, call: 1 }, Buffer.alloc(0), true);
    calls.receive({ t: "call", id: 1, call: 2 }, Buffer.alloc(0), true);
  }
  expect(started).toBe(2);
});
