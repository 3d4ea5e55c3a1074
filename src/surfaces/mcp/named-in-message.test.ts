import { expect, test } from "vitest";
import { namedInMessage } from "./named-in-message.ts";

const call = (args: object) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "t", arguments: args },
});

test("a tool call is about the session that it names, or about the default session", () => {
  expect(namedInMessage(call({ session_id: "a", code: "1" }))).toEqual({ kind: "session", id: "a" });
  expect(namedInMessage(call({ code: "1" }))).toEqual({ kind: "default-session" });
  expect(namedInMessage(call({ session_id: "new" }))).toEqual({ kind: "nothing" });
});

test("runs, kept output and files name where they are", () => {
  expect(namedInMessage(call({ run_id: "run_abc.g-0123456789" }))).toEqual({ kind: "gateway", id: "g-0123456789" });
  expect(namedInMessage(call({ handle: "out_abc.g-0123456789" }))).toEqual({ kind: "gateway", id: "g-0123456789" });
  expect(namedInMessage(call({ run_id: "run_abc" }))).toEqual({ kind: "nothing" });
  const uri = "codecell://sessions/a%2Eb/artifacts/x.png";
  expect(namedInMessage({ method: "resources/read", params: { uri } })).toEqual({ kind: "session", id: "a.b" });
});

test("what needs no session, and what is no message, is answered where it arrives", () => {
  for (const message of [{ method: "initialize" }, { method: "tools/list" }, { method: "ping" }, null, "x", [1], {}]) {
    expect(namedInMessage(message)).toEqual({ kind: "nothing" });
  }
});
