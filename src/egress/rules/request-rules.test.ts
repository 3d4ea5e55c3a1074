import { describe, expect, test } from "vitest";
import { cpuMsOf } from "../../../test/support/cpu-time.ts";
import { canonicalSegments, judgeRequest } from "./request-rules.ts";

const rules = [{ host: "api.example.com", methods: ["GET"], paths: ["/v1/**", "/repos/*/issues", "/caf%c3%a9"] }];
const ask = (path: string, method = "GET", host = "api.example.com", port = 443) =>
  judgeRequest({ host, port, method, path, fields: [] }, rules)?.code ?? "allowed";

describe("a rule about paths", () => {
  test.each(["/v1", "/v1/", "/v1/a", "/v1/a/b?x=/../", "/v1/a%20b", "/repos/x/issues", "/caf%C3%A9", "/v1/a:b@c"])(
    "allows %s",
    (path) => expect(ask(path)).toBe("allowed"),
  );

  test.each(["/", "/v2", "/v10", "/V1/a", "/repos/x/y/issues", "/repos/issues", "/repos/x/issues/", "/v1x", "/?/v1/"])(
    "does not allow %s",
    (path) => expect(ask(path)).toBe("request"),
  );

  test.each([
    ["a .. segment", "/v1/../admin"],
    ["a .. segment at the end", "/v1/.."],
    ["a . segment", "/v1/./a"],
    ["a percent-encoded .. segment", "/v1/%2e%2e/admin"],
    ["a half percent-encoded .. segment", "/v1/.%2E/admin"],
    ["a percent-encoded slash", "/v1/..%2fadmin"],
    ["double percent-encoding", "/v1/%252e%252e/admin"],
    ["a parameter after the dots", "/v1/..;/admin"],
    ["a backslash", "/v1/..\\admin"],
    ["a percent-encoded backslash", "/v1/..%5cadmin"],
    ["two slashes", "/v1//admin"],
    ["two slashes at the start", "//v1/a"],
    ["NUL", "/v1/a%00"],
    ["a line break", "/v1/a%0d%0a"],
    ["a percent-encoded letter", "/%76%31/a"],
    ["an overlong UTF-8 slash", "/v1/..%c0%afadmin"],
    ["a full-width slash", "/v1/..%EF%BC%8Fadmin"],
    ["full-width dots", "/v1/%EF%BC%8E%EF%BC%8E/admin"],
    ["an invalid percent-encoding", "/v1/%zz"],
    ["a space", "/v1/a b"],
    ["no slash at the start", "v1/a"],
  ])("refuses a path with %s, which servers read differently", (_, path) => {
    expect(canonicalSegments(path)).toBeUndefined();
    expect(ask(path)).toBe("request");
  });

  test("matches any path quickly", async () => {
    const many = [{ host: "api.example.com", paths: [`/${"**/a/".repeat(60)}b`, `/${"*a".repeat(200)}b`] }];
    const path = `/${"a/".repeat(5_000)}${"a".repeat(5_000)}`;
    const request = { host: "api.example.com", port: 443, method: "GET", path, fields: [] };
    expect(await cpuMsOf(() => judgeRequest(request, many))).toBeLessThan(2_000);
  });
});

describe("a rule about methods", () => {
  test.each(["POST", "get", "HEAD", "GETS"])("does not allow %s where it names GET", (method) =>
    expect(ask("/v1/a", method)).toBe("request"),
  );

  test.each(["x-http-method-override", "x-http-method", "x-method-override"])(
    "refuses a request with the header %s",
    (field) => {
      const asked = { host: "api.example.com", port: 443, method: "GET", path: "/v1/a", fields: [field] };
      expect(judgeRequest(asked, rules)?.code).toBe("request");
    },
  );
});

test("a request rule without a port applies to every port, and to no other host", () => {
  expect(ask("/admin", "GET", "api.example.com", 8443)).toBe("request");
  expect(ask("/admin", "GET", "www.example.com")).toBe("allowed");
});

test("a request is allowed if one of several rules allows it", () => {
  const both = [...rules, { host: "*.example.com", methods: ["POST"] }];
  const asked = { host: "api.example.com", port: 443, fields: [] };
  expect(judgeRequest({ ...asked, method: "POST", path: "/anything" }, both)).toBeUndefined();
  expect(judgeRequest({ ...asked, method: "GET", path: "/anything" }, both)?.code).toBe("request");
});

test.each([
  ["x-http-method-override", "request"],
  ["x_http_method_override", "request"],
  ["x.http.method", "request"],
  ["x-original-url", "request"],
  ["x_rewrite_url", "request"],
  ["x-own-url", "allowed"],
])(
  "a header that overrides the method or path is refused in every spelling that servers accept: %s",
  (field, verdict) => {
    const asked = { host: "api.example.com", port: 443, method: "GET", path: "/v1/a", fields: [field] };
    expect(judgeRequest(asked, rules)?.code ?? "allowed").toBe(verdict);
  },
);

test("a header that overrides the path is allowed if no rule restricts paths", () => {
  const asked = { host: "api.example.com", port: 443, method: "GET", path: "/v1/a", fields: ["x-original-url"] };
  expect(judgeRequest(asked, [{ host: "api.example.com", methods: ["GET"] }])).toBeUndefined();
});
