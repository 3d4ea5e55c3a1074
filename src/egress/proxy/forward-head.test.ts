import { expect, test } from "vitest";
import { answerHeaders, readForwardHead } from "./forward-head.ts";

const head = (rawHeaders: string[], more: object = {}) =>
  readForwardHead({ method: "GET", url: "http://a.example/x?y", httpVersion: "1.1", rawHeaders, ...more });

test("a forwarded request gets the Host of the URL and loses its hop-by-hop headers", () => {
  const raw = ["Host", "A.example:80", "Connection", "keep-alive, X-Hop", "X-Hop", "1", "Proxy-Authorization", "s"];
  expect(head([...raw, "Accept", "a", "accept", "b", "TE", "trailers", "Upgrade", "h2c"])).toMatchObject({
    ok: true,
    target: { host: "a.example", port: 80 },
    path: "/x?y",
    headers: { host: "a.example", accept: ["a", "b"], connection: "close" },
  });
});

test("a forwarded request keeps exactly one header for the body's length", () => {
  const post = { method: "POST" };
  expect(head(["Content-Length", "3"], post)).toMatchObject({ headers: { "content-length": "3" } });
  expect(head(["Transfer-Encoding", "chunked"], post)).toMatchObject({ headers: { "transfer-encoding": "chunked" } });
  expect(head([], post)).toMatchObject({ headers: { "content-length": "0" } });
});

test.each<[string, string[], object, number]>([
  ["another host in Host", ["Host", "evil.example"], {}, 403],
  ["another port in Host", ["Host", "a.example:8080"], {}, 403],
  ["two Host headers", ["Host", "a.example", "host", "a.example"], {}, 400],
  ["an encoding that is not chunked", ["Transfer-Encoding", "xchunked"], { method: "POST" }, 400],
  ["two encodings", ["Transfer-Encoding", "chunked", "Transfer-Encoding", "identity"], { method: "POST" }, 400],
  ["a length and an encoding", ["Transfer-Encoding", "chunked", "Content-Length", "3"], { method: "POST" }, 400],
  ["two lengths", ["Content-Length", "3", "Content-Length", "3"], { method: "POST" }, 400],
  ["a length in another spelling", ["Content_Length", "3"], { method: "POST" }, 400],
  ["an encoding in another spelling", ["Transfer.Encoding", "chunked"], { method: "POST" }, 400],
  ["chunks in HTTP/1.0", ["Transfer-Encoding", "chunked"], { method: "POST", httpVersion: "1.0" }, 400],
  ["a Connection header that removes Host", ["Connection", "host"], {}, 400],
  ["an upgrade to WebSocket", ["Upgrade", "websocket", "Connection", "upgrade"], {}, 501],
  ["the method TRACE", [], { method: "TRACE" }, 501],
  ["too many headers", Array.from({ length: 260 }, () => "x"), {}, 400],
  ["an https URL", [], { url: "https://a.example/" }, 400],
  ["a URL in origin form", [], { url: "/x" }, 400],
])("a request with %s is refused", (_, raw, more, status) =>
  expect(head(raw, more)).toMatchObject({ ok: false, status }),
);

test("a response keeps its headers, also repeated ones, except hop-by-hop headers", () => {
  const raw = [
    "Set-Cookie",
    "a",
    "Set-Cookie",
    "b",
    "Connection",
    "X-Hop",
    "X-Hop",
    "1",
    "Transfer-Encoding",
    "chunked",
  ];
  expect(answerHeaders(raw)).toEqual([
    ["set-cookie", "a"],
    ["set-cookie", "b"],
  ]);
});
