import { expect, test } from "vitest";
import { readGreeting, readSocksRequest, socksReply } from "./socks.ts";

const named = (name: string, port = 22) =>
  Buffer.concat([
    Buffer.from([5, 1, 0, 3, name.length]),
    Buffer.from(name, "latin1"),
    Buffer.from([port >> 8, port & 255]),
  ]);

test("a SOCKS name is read by its length, including NUL characters", () => {
  expect(readSocksRequest(named("a\0.good.example"))).toMatchObject({
    kind: "read",
    host: "a\0.good.example",
    port: 22,
  });
});

test("a SOCKS name is read as UTF-8, and invalid bytes become U+FFFD", () => {
  const request = (bytes: Buffer) =>
    readSocksRequest(Buffer.concat([Buffer.from([5, 1, 0, 3, bytes.length]), bytes, Buffer.from([0, 22])]));
  expect(request(Buffer.from("bücher.example"))).toMatchObject({ host: "bücher.example" });
  expect(request(Buffer.from("bücher.example", "latin1"))).toMatchObject({ host: "b\ufffdcher.example" });
});

test("an incomplete SOCKS message waits for more bytes", () => {
  const request = named("good.example");
  for (let length = 0; length < request.length; length++)
    expect(readSocksRequest(request.subarray(0, length))).toEqual({ kind: "more" });
  expect(readGreeting(Buffer.from([5, 2, 0]))).toEqual({ kind: "more" });
});

test("a SOCKS address is read as an address, not as a name", () => {
  expect(readSocksRequest(Buffer.from([5, 1, 0, 1, 127, 0, 0, 1, 0, 80]))).toMatchObject({ host: "127.0.0.1" });
  const v6 = Buffer.concat([Buffer.from([5, 1, 0, 4]), Buffer.alloc(15), Buffer.from([1, 0, 80])]);
  expect(readSocksRequest(v6)).toMatchObject({ host: "[0000:0000:0000:0000:0000:0000:0000:0001]" });
});

test.each([
  ["BIND", [5, 2, 0, 1, 1, 1, 1, 1, 0, 1], socksReply.commandUnsupported],
  ["UDP", [5, 3, 0, 1, 1, 1, 1, 1, 0, 1], socksReply.commandUnsupported],
  ["an unknown address type", [5, 1, 0, 9, 1], socksReply.addressUnsupported],
  ["another version", [4, 1, 0, 1, 1], socksReply.failure],
])("a SOCKS request with %s is refused", (_, bytes, reply) => {
  expect(readSocksRequest(Buffer.from(bytes))).toMatchObject({ kind: "refused", reply });
});

test("a SOCKS client that requires authentication or another version is refused", () => {
  expect(readGreeting(Buffer.from([5, 1, 2]))).toMatchObject({ kind: "refused" });
  expect(readGreeting(Buffer.from([4, 1]))).toMatchObject({ kind: "refused" });
});
