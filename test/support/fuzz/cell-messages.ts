import { readFileSync } from "node:fs";

/** One honest header of each message that a cell sends. */
export const cellHeaders: readonly object[] = [
  { t: "hello", protocol: 1, python: "3.12.0", languages: ["python"], features: ["fork"] },
  { t: "ready" },
  { t: "failed", reason: "no" },
  { t: "out", id: 1, stream: "stdout" },
  { t: "out", id: 1, stream: "stderr", skipped: 4 },
  { t: "held", id: 1, bytes: 10 },
  { t: "display", id: 1, display: 1, mime: "text/plain", more: false },
  { t: "done", id: 1, status: "ok", state: "kept", result: "42" },
  {
    t: "done",
    id: 1,
    status: "error",
    state: "kept",
    error: { name: "E", message: "m", traceback: "t" },
    notes: ["n"],
  },
  {
    t: "done",
    id: 1,
    status: "ok",
    state: "kept",
    files: [{ path: "a", size: 1, modifiedMs: 1 }],
    filesComplete: true,
  },
  { t: "reply", id: 2 ** 32 + 1, ok: true, size: 2 },
  { t: "reply", id: 2 ** 32 + 1, ok: false, code: "timeout", message: "late" },
  { t: "data", id: 2 ** 32 + 1 },
  { t: "credit", id: 1, bytes: 4096 },
  { t: "call", id: 1, call: 1, name: "f", size: 2 },
  { t: "call.drop", id: 1, call: 1 },
  { t: "call.credit", bytes: 10 },
  { t: "net.open", id: 1 },
  { t: "net.data", id: 1 },
  { t: "net.end", id: 1 },
  { t: "net.close", id: 1 },
  { t: "net.credit", id: 1, bytes: 10 },
  { t: "lost", state: "recovered", recoveredTo: 1, notes: [] },
  { t: "gone", name: "c" },
];

/** A frame around any header, also one that no honest side would send. */
export function frameOf(header: unknown, body: Uint8Array = Buffer.alloc(0)): Buffer {
  const text = Buffer.from(JSON.stringify(header) ?? "null");
  const prefix = Buffer.alloc(8);
  prefix.writeUInt32LE(4 + text.length + body.length, 0);
  prefix.writeUInt32LE(text.length, 4);
  return Buffer.concat([prefix, text, body]);
}

const fixtures = new URL("../../fixtures/kernel/frames.json", import.meta.url);
/** The frames that the tests of both sides share. */
export const fixtureFrames: readonly Buffer[] = (
  JSON.parse(readFileSync(fixtures, "utf8")) as { frameHex: string }[]
).map(({ frameHex }) => Buffer.from(frameHex, "hex"));
