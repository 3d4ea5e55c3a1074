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
    ["a step up", "/v1/../admin"],
    ["a step up at the end", "/v1/.."],
    ["a step that leads nowhere", "/v1/./a"],
    ["a step up in codes", "/v1/%2e%2e/admin"],
    ["half of it in codes", "/v1/.%2E/admin"],
    ["a slash in codes", "/v1/..%2fadmin"],
    ["a code of a code", "/v1/%252e%252e/admin"],
    ["a parameter behind the dots", "/v1/..;/admin"],
    ["a backslash", "/v1/..\\admin"],
    ["a backslash in codes", "/v1/..%5cadmin"],
    ["two slashes", "/v1//admin"],
    ["two slashes at the start", "//v1/a"],
    ["NUL", "/v1/a%00"],
    ["a line break", "/v1/a%0d%0a"],
    ["a letter in codes", "/%76%31/a"],
    ["an overlong slash", "/v1/..%c0%afadmin"],
    ["a slash of full width", "/v1/..%EF%BC%8Fadmin"],
    ["dots of full width", "/v1/%EF%BC%8E%EF%BC%8E/admin"],
    ["a broken code", "/v1/%zz"],
    ["a space", "/v1/a b"],
    ["no slash", "v1/a"],
  ])("refuses %s, which servers read differently", (_, path) => {
    expect(canonicalSegments(path)).toBeUndefined();
    expect(ask(path)).toBe("request");
  });

  test("matching a path against request rules is fast for every path", async () => {
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

  test.each(["x-http-method-override", "x-http-method", "x-method-override"])("refuses a request with %s", (field) => {
    const asked = { host: "api.example.com", port: 443, method: "GET", path: "/v1/a", fields: [field] };
    expect(judgeRequest(asked, rules)?.code).toBe("request");
  });
});

test("a rule without a port is about every port, and about no other host", () => {
  expect(ask("/admin", "GET", "api.example.com", 8443)).toBe("request");
  expect(ask("/admin", "GET", "www.example.com")).toBe("allowed");
});

test("one of several rules is enough", () => {
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
])("a field that means another method or path is refused in every spelling that servers take: %s", (field, verdict) => {
  const asked = { host: "api.example.com", port: 443, method: "GET", path: "/v1/a", fields: [field] };
  expect(judgeRequest(asked, rules)?.code ?? "allowed").toBe(verdict);
});

test("a field that means another path is harmless where no rule is about paths", () => {
  const asked = { host: "api.example.com", port: 443, method: "GET", path: "/v1/a", fields: ["x-original-url"] };
  expect(judgeRequest(asked, [{ host: "api.example.com", methods: ["GET"] }])).toBeUndefined();
});
