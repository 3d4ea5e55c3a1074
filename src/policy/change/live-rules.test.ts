import { describe, expect, test } from "vitest";
import { parsePolicy } from "../file/parse-policy.ts";
import { addRequest, type LiveChange, policyInForce, type RequestedRules, requestedRulesSchema } from "./live-rules.ts";
import type { Authority } from "./merge.ts";

const operator = parsePolicy({
  net: { enabled: true, allowlist: ["packages.example", "*.example.com"], deny: ["bad.example.com"] },
  overrides: { ceiling: { net: { allowlist: ["more.example"] } } },
});

/** The network rules in force after these changes, applied in order. */
function netAfter(...changes: [Authority, LiveChange["net"]][]) {
  const requestedRules = changes.reduce<RequestedRules>((so, [who, net]) => addRequest(operator, so, { net }, who), {});
  return policyInForce(operator, requestedRules).net;
}

describe("a caller of a live session", () => {
  test("can narrow the rules, then widen them again up to the operator's policy", () => {
    expect(netAfter(["caller", { allowlist: ["a.example.com"] }]).allowlist).toEqual(["a.example.com"]);
    expect(netAfter(["caller", { allowlist: [] }], ["caller", { allowlist: ["*.example.com"] }]).allowlist).toEqual([
      "*.example.com",
    ]);
    expect(netAfter(["caller", { allowlist: [], enabled: false }], ["caller", { allowlist: null }])).toMatchObject({
      enabled: false,
      allowlist: operator.net.allowlist,
    });
  });

  test.each<LiveChange["net"]>([
    { allowlist: ["evil.example"] },
    { allowlist: ["more.example"] }, // the ceiling applies to the host program only
    { allowlist: ["packages.example:22"] },
    { deny: [] },
  ])("cannot widen the rules with %j", (net) => {
    expect(() => netAfter(["caller", net])).toThrow(expect.objectContaining({ code: "override_refused" }));
    expect(() => netAfter(["model", net])).toThrow(/a model may only narrow/);
  });

  test("cannot undo what the host program has narrowed", () => {
    const narrowed: [Authority, LiveChange["net"]] = ["host", { allowlist: ["packages.example"] }];
    expect(() => netAfter(narrowed, ["caller", { allowlist: ["a.example.com"] }])).toThrow(/packages\.example/);
    expect(netAfter(narrowed, ["caller", { allowlist: null }]).allowlist).toEqual(["packages.example"]);
  });

  test("can narrow what the host program has widened", () => {
    const widened: [Authority, LiveChange["net"]] = ["host", { allowlist: ["more.example", "packages.example"] }];
    expect(netAfter(widened, ["caller", { allowlist: ["more.example"] }]).allowlist).toEqual(["more.example"]);
  });

  test("can lower sizes and numbers, but not raise them above the operator's limits", () => {
    expect(netAfter(["caller", { sent: "1MiB", connections: 2 }])).toMatchObject({
      sentBytes: 2 ** 20,
      connections: 2,
    });
    expect(() => netAfter(["caller", { sent: "5GiB" }])).toThrow(
      /net\.sent: 5GiB was requested, a caller may only narrow 4GiB/,
    );
    expect(() => netAfter(["caller", { sent: "5 gigs" }])).toThrow(expect.objectContaining({ code: "usage" }));
  });

  test("gets a usage error, not policy_invalid, when a rule does not parse", () => {
    expect(() => netAfter(["caller", { allowlist: ["HTTP://x"] }])).toThrow(expect.objectContaining({ code: "usage" }));
  });
});

describe("an operator's policy that permits less than before", () => {
  const requestedRules = addRequest(
    operator,
    {},
    { net: { allowlist: ["a.example.com", "packages.example"] } },
    "caller",
  );
  const under = (net: object) => policyInForce(parsePolicy({ net: { enabled: true, ...net } }), requestedRules).net;

  test("leaves the session only what both policies permit", () => {
    expect(under({ allowlist: ["packages.example", "new.example"] }).allowlist).toEqual(["packages.example"]);
    expect(under({ allowlist: ["b.example.com"] }).allowlist).toEqual([]);
    expect(under({ allowlist: ["*.example.com"] }).allowlist).toEqual(["a.example.com"]);
    expect(under({ enabled: false, allowlist: ["packages.example"] }).enabled).toBe(false);
  });

  test("leaves the session the hosts that match a wildcard it requested", () => {
    const wide = addRequest(operator, {}, { net: { allowlist: ["*.example.com"] } }, "caller");
    const now = parsePolicy({ net: { enabled: true, allowlist: ["x.example.com"] } });
    expect(policyInForce(now, wide).net.allowlist).toEqual(["x.example.com"]);
  });

  test("leaves the session the smaller of the two limits", () => {
    const small = addRequest(operator, {}, { net: { sent: "2MiB", received: "2MiB" } }, "caller");
    const now = parsePolicy({ net: { enabled: true, sent: "1MiB", received: "1GiB" } });
    expect(policyInForce(now, small).net).toMatchObject({ sentBytes: 2 ** 20, receivedBytes: 2 ** 21 });
  });

  test("adds its denied hosts to those that the session requested", () => {
    const denied = addRequest(operator, {}, { net: { deny: ["bad.example.com", "worse.example.com"] } }, "caller");
    const now = parsePolicy({ net: { enabled: true, deny: ["new.example.com"] } });
    expect(policyInForce(now, denied).net.deny.sort()).toEqual([
      "bad.example.com",
      "new.example.com",
      "worse.example.com",
    ]);
  });

  test("takes back what an earlier ceiling allowed", () => {
    const widened = addRequest(operator, {}, { net: { allowlist: ["more.example", "packages.example"] } }, "host");
    expect(policyInForce(operator, widened).net.allowlist).toEqual(["more.example", "packages.example"]);
    const now = { ...operator, overrides: { ceiling: {} } };
    expect(policyInForce(now, widened).net.allowlist).toEqual(["packages.example"]);
  });
});

test.each([{ proc: { memory: "4GiB" } }, { net: { inspection: true } }, { env: { A: "b" } }])(
  "%j cannot change while a session is open",
  (change) => {
    expect(() => addRequest(operator, {}, change as unknown as LiveChange, "host")).toThrow(
      expect.objectContaining({ code: "not_supported", hint: expect.stringContaining("net.allowlist") }),
    );
  },
);

test("requested rules survive a round trip through JSON, and malformed ones are rejected", () => {
  const requestedRules = addRequest(operator, {}, { net: { allowlist: ["packages.example"], sent: "1MiB" } }, "caller");
  expect(requestedRulesSchema.parse(JSON.parse(JSON.stringify(requestedRules)))).toEqual(requestedRules);
  expect(requestedRulesSchema.safeParse({ caller: { allowlist: "packages.example" } }).success).toBe(false);
});
