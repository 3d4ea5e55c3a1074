import type { ServerResponse } from "node:http";
import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { encodeRunEvent } from "../../../service/wire/runs/run-event.ts";
import type { RunEvent } from "../../../sessions/runs/run.ts";
import { runEventPieces } from "./run-event-pieces.ts";
import { EventStream } from "./sse.ts";

const text = `${"x".repeat(48 * 1024 - 1)}🐍"\\\n`.repeat(4);
const data = Buffer.from(text);
const events: [string, RunEvent][] = [
  ["short output", { type: "stdout", text: "a" }],
  ["long output", { type: "stderr", text }],
  ["a small picture", { type: "display", display: 1, mime: "image/png", data: Buffer.from("a"), stdoutOffset: 3 }],
  ["a large picture", { type: "display", display: 1, mime: "image/png", data, stdoutOffset: 3 }],
];

test.each(events)("the event of %s is the same in pieces, and no piece is large", (_what, event) => {
  const pieces = [...runEventPieces(event, 7)];
  expect(JSON.parse(pieces.map((piece) => Buffer.from(piece).toString()).join(""))).toEqual(encodeRunEvent(event, 7));
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(80 * 1024);
});

test("for a client that reads nothing, only the first pieces of an event are made", async () => {
  let made = 0;
  function* counted() {
    for (const piece of runEventPieces({ type: "stdout", text: text.repeat(20) }, 0)) {
      made++;
      yield piece;
    }
  }
  const unread = new Writable({ write() {} });
  const response = Object.assign(unread, { writeHead() {}, flushHeaders() {} }) as unknown as ServerResponse;
  using stream = new EventStream(response, { heartbeatMs: 60_000, stallMs: 100 });
  await stream.sendPieces("stdout", counted(), 0);
  expect(response.destroyed).toBe(true);
  expect(made).toBeLessThanOrEqual(3);
});
