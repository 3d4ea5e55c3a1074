import { expect, test } from "vitest";
import { clientHello, inRecordsOf } from "../../../test/support/client-hello.ts";
import { leastCpuMsOf } from "../../../test/support/cpu-time.ts";
import { maxHelloBytes, readClientHello } from "./client-hello.ts";

const hello = await clientHello("good.example");

test("readClientHello reads the server name of a real client", () => {
  expect(readClientHello(hello)).toMatchObject({ kind: "hello", serverName: "good.example", isEncrypted: false });
});

test("readClientHello waits while bytes are missing, however few there are", () => {
  for (let length = 0; length < hello.length; length++)
    expect(readClientHello(hello.subarray(0, length))).toMatchObject({ kind: "more" });
});

test.each([1, 7, 10_000])(
  "a hello in records of %i bytes that comes byte by byte is parsed only a few times",
  (size) => {
    const bytes = inRecordsOf(size, hello);
    let [parses, atLeast] = [0, 1];
    for (let length = 1; length <= bytes.length; length++) {
      const isComplete = readClientHello(bytes.subarray(0, length)).kind === "hello";
      if (length < atLeast) {
        expect([length, isComplete]).toEqual([length, false]);
        continue;
      }
      parses++;
      const verdict = readClientHello(bytes.subarray(0, length));
      atLeast = verdict.kind === "more" ? verdict.atLeast : length;
      expect(isComplete).toBe(length === bytes.length);
    }
    expect(atLeast).toBe(bytes.length);
    expect(parses).toBeLessThan(100);
  },
);

test("readClientHello reads a hello that is split into records of one byte", () => {
  expect(readClientHello(inRecordsOf(1, hello))).toMatchObject({ serverName: "good.example" });
});

test("readClientHello reports a client that names no server", async () => {
  expect(readClientHello(await clientHello(undefined))).toMatchObject({ kind: "hello", serverName: undefined });
});

test("readClientHello recognizes traffic that is not TLS by its first byte", () => {
  expect(readClientHello(Buffer.from("GET / HTTP/1.1"))).toEqual({ kind: "not_tls" });
});

test.each<[string, (bytes: Buffer) => Buffer]>([
  ["another record in between", (bytes) => Buffer.concat([bytes.subarray(0, 5), Buffer.from([0]), alert])],
  ["a record without content", () => Buffer.from([22, 3, 1, 0, 0])],
  ["a record that is too long", () => Buffer.from([22, 3, 1, 255, 255])],
  ["a message that is too long", () => Buffer.from([22, 3, 1, 0, 4, 1, 2, 0, 0])],
  ["a handshake message of another type", () => Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])],
  ["an extension that appears twice", (bytes) => withExtension(bytes, serverNameExtension(["evil.example"]))],
  ["two names in one extension", (bytes) => replaced(bytes, serverNameExtension(["good.example", "evil.example"]))],
  ["a NUL in the name", (bytes) => replaced(bytes, serverNameExtension(["good.example\0.evil"]))],
  ["bytes after the extensions", (bytes) => resized(Buffer.concat([bytes.subarray(5 + 4), Buffer.from([0])]))],
])("readClientHello refuses %s", (_, change) => {
  expect(readClientHello(change(hello))).toMatchObject({ kind: "malformed" });
});

test("readClientHello detects an encrypted hello", () => {
  const encrypted = withExtension(hello, Buffer.from([0xfe, 0x0d, 0, 1, 0]));
  expect(readClientHello(encrypted)).toMatchObject({ kind: "hello", isEncrypted: true });
});

test("readClientHello refuses a hello that never ends", () => {
  const endless = Buffer.concat(
    Array.from({ length: 5 }, () => Buffer.concat([Buffer.from([22, 3, 1, 64, 0]), Buffer.alloc(16_384, 1)])),
  );
  expect(endless.length).toBeGreaterThan(maxHelloBytes);
  expect(readClientHello(endless)).toMatchObject({ kind: "malformed" });
});

test("readClientHello reads a hello in ten thousand records of one byte in linear time", async () => {
  const long = inRecordsOf(1, Buffer.concat([Buffer.from([22, 3, 1, 42, 48, 1, 0, 0xff, 0]), Buffer.alloc(10_796)]));
  expect(readClientHello(long)).toMatchObject({ kind: "more" });
  const took = (bytes: Buffer) =>
    leastCpuMsOf(() => {
      for (let turn = 0; turn < 3; turn++) readClientHello(bytes);
    });
  const tenth = long.subarray(0, long.length / 10);
  await took(tenth);
  // Joining all records again for each one takes two seconds, in which no other session is served.
  expect(await took(long)).toBeLessThan(50 * Math.max(await took(tenth), 1));
});

const alert = Buffer.from([21, 3, 1, 0, 2, 2, 112]);

/** The offset of the extensions' length in the message. */
function extensionsAt(message: Buffer): number {
  let at = 34;
  at += 1 + message.readUInt8(at);
  at += 2 + message.readUInt16BE(at);
  return at + 1 + message.readUInt8(at);
}

function withExtension(bytes: Buffer, extension: Buffer): Buffer {
  const message = Buffer.from(bytes.subarray(9));
  const at = extensionsAt(message);
  message.writeUInt16BE(message.readUInt16BE(at) + extension.length, at);
  return resized(Buffer.concat([message, extension]));
}

/** The hello with this extension alone. */
function replaced(bytes: Buffer, extension: Buffer): Buffer {
  const message = bytes.subarray(9);
  const at = extensionsAt(message);
  const size = Buffer.from([extension.length >> 8, extension.length & 255]);
  return resized(Buffer.concat([message.subarray(0, at), size, extension]));
}

function resized(message: Buffer): Buffer {
  const length = message.length;
  return Buffer.concat([
    Buffer.from([22, 3, 1, (length + 4) >> 8, (length + 4) & 255, 1, 0, length >> 8, length & 255]),
    message,
  ]);
}

function serverNameExtension(names: string[]): Buffer {
  const list = Buffer.concat(
    names.map((name) => Buffer.concat([Buffer.from([0, 0, name.length]), Buffer.from(name, "latin1")])),
  );
  return Buffer.concat([Buffer.from([0, 0, 0, list.length + 2, 0, list.length]), list]);
}
