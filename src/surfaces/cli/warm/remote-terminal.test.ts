import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { type Frame, FrameReader } from "./frames.ts";
import { RemoteTerminal } from "./remote-terminal.ts";
import type { RunRequest } from "./warm-request.ts";

const request: RunRequest = {
  ...{ ask: "run", code: "1", from: "argument", language: "python", hasStdin: true, json: false, receipt: false },
  ...{
    plots: { stateDir: "/state", images: "none" as const },
    hasColor: false,
    stdout: { isTTY: true, columns: 100 },
    stderr: { isTTY: false, columns: null },
  },
};

/** A terminal, and the frames that its caller gets. */
function open() {
  const frames: Frame[] = [];
  const reader = new FrameReader(1000);
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      frames.push(...reader.push(chunk));
      done();
    },
  });
  return { terminal: new RemoteTerminal(socket as unknown as Socket, request), frames };
}

test("what is written to a remote terminal reaches the caller in order, before the exit code", () => {
  const { terminal, frames } = open();
  terminal.stdout.write("out");
  terminal.stderr.write("err");
  terminal.end(3);
  expect(frames.map(({ type, data }) => `${type} ${data}`)).toEqual(["stdout out", "stderr err", "exit 3"]);
});

test("a remote terminal has the width of the caller's, and nothing of its environment but the wish for no colors", () => {
  const { terminal } = open();
  expect(terminal.stdout).toMatchObject({ isTTY: true, columns: 100 });
  expect(terminal.stderr).toMatchObject({ isTTY: false, columns: Number.POSITIVE_INFINITY });
  expect(terminal.env).toEqual({ NO_COLOR: "1" });
});

test("the caller is asked for a piece of stdin only when the program reads, and for one at a time", async () => {
  const { terminal, frames } = open();
  expect(frames).toEqual([]);
  const pieces = terminal.stdin[Symbol.asyncIterator]();
  const first = pieces.next();
  await new Promise((resolve) => setImmediate(resolve));
  expect(frames.map(({ type }) => type)).toEqual(["wantStdin"]);
  expect(terminal.pushStdin(Buffer.from("one"))).toBe(true);
  expect((await first).value.toString()).toBe("one");
  const last = pieces.next();
  await new Promise((resolve) => setImmediate(resolve));
  expect(terminal.pushStdin(Buffer.alloc(0))).toBe(true);
  expect((await last).done).toBe(true);
});

test("stdin that nobody asked for is refused, so that a caller cannot fill the memory", () => {
  expect(open().terminal.pushStdin(Buffer.from("x"))).toBe(false);
});
