import { describe, expect, test } from "vitest";
import { CodecellError } from "../lib/errors.ts";
import { mergePolicy } from "./change/merge.ts";
import { parsePolicy } from "./file/parse-policy.ts";
import { policyRules, showRule } from "./rules.ts";
import type { PolicyInput, PolicyOverride } from "./schema.ts";

const token = { from: "env:API_TOKEN", hosts: ["api.example.com"] };
const net = (more: PolicyInput["net"]): PolicyInput => ({ net: { enabled: true, ...more } });

function problems(input: PolicyInput, baseDir?: string): string {
  try {
    parsePolicy(input, baseDir === undefined ? {} : { baseDir });
  } catch (error) {
    if (error instanceof CodecellError) return error.message;
    throw error;
  }
  return "fine";
}

describe("net.secrets", () => {
  test("is placed in the authorization field alone, and only over TLS that is opened, unless the policy says more", () => {
    const policy = parsePolicy(net({ inspect: true, secrets: { API_TOKEN: token } }));
    expect(policy.net.secrets.API_TOKEN).toEqual({
      ...token,
      headers: ["authorization"],
      query: false,
      plaintext: false,
    });
    expect(problems(net({ secrets: { API_TOKEN: token } }))).toMatch(
      /^net\.secrets\.API_TOKEN\.hosts\[0\]: api\.example\.com is not in net\.inspect/,
    );
    expect(problems(net({ secrets: { API_TOKEN: { ...token, plaintext: true } } }))).toBe("fine");
  });

  test("a secret whose value is written in place of its source is rejected without showing it", () => {
    const message = problems(net({ inspect: true, secrets: { API_TOKEN: { ...token, from: "hunter2-hunter2" } } }));
    expect(message).toContain("a secret comes from env:NAME or file:PATH");
    expect(message).not.toContain("hunter2");
  });

  test.each([
    ["a wildcard", { hosts: ["*.example.com"] }, "named one by one"],
    ["no host", { hosts: [] }, "name at least one host"],
    ["the host field", { headers: ["host"] }, "carries no secret"],
    ["a length", { headers: ["content-length"] }, "carries no secret"],
    ["a field in another spelling", { headers: ["Authorization"] }, "lower case"],
  ])("does not take %s", (_, more, reason) => {
    expect(problems(net({ inspect: true, secrets: { API_TOKEN: { ...token, ...more } } }))).toContain(reason);
  });

  test.each(["PATH", "https_proxy", "SSL_CERT_FILE", "LD_PRELOAD"])("does not take the variable %s", (name) => {
    expect(problems(net({ inspect: true, secrets: { [name]: token } }))).not.toBe("fine");
  });

  test("does not share a variable with env", () => {
    const both = { ...net({ inspect: true, secrets: { API_TOKEN: token } }), env: { API_TOKEN: "x" } };
    expect(problems(both)).toContain("env also sets API_TOKEN");
  });

  test("may be a file beside the policy, and none that the cell sees", () => {
    const file = (path: string): PolicyInput["net"] => ({
      enabled: true,
      inspect: true,
      secrets: { T: { ...token, from: `file:${path}` } },
    });
    const policy = parsePolicy({ net: file("./token") }, { baseDir: "/srv/project" });
    expect(policy.net.secrets.T?.from).toBe("file:/srv/project/token");
    const shown = { fs: { workspace: "/srv/project/work", load: ["/srv/data"] } };
    expect(problems({ ...shown, net: file("work/token") }, "/srv/project")).toContain(
      "the cell can read /srv/project/work",
    );
    expect(problems({ ...shown, net: file("/srv/data") }, "/srv/project")).toContain("the cell can read /srv/data");
  });

  test("reads as its name, source and hosts", () => {
    const policy = parsePolicy(net({ inspect: ["api.example.com"], secrets: { API_TOKEN: token } }));
    expect(showRule(policy, "net.secrets")).toBe("API_TOKEN from env:API_TOKEN → api.example.com");
    expect(policyRules(parsePolicy({})).find(({ rule }) => rule === "net.secrets")?.value).toBe("none");
  });
});

describe("net.inspect", () => {
  test("is true for all, or a list", () => {
    expect(showRule(parsePolicy(net({ inspect: true })), "net.inspect")).toBe("all");
    expect(showRule(parsePolicy(net({ inspect: false })), "net.inspect")).toBe("none");
    expect(parsePolicy(net({ inspect: ["*.example.com"] })).net.inspect).toEqual(["*.example.com"]);
    expect(problems({ net: { inspect: "yes" } } as unknown as PolicyInput)).toContain(
      "takes true, or hosts in lower case such as",
    );
    expect(problems(net({ inspect: ["*"] }))).toContain("takes true, or hosts in lower case such as");
  });
});

describe("net.rules", () => {
  test.each(["v1", "/a/../b", "/a//b", "/a**", "/a?b", "/a b", "/a;b"])("does not take the path %j", (path) => {
    expect(problems(net({ rules: [{ host: "a.example", paths: [path] }] }))).not.toBe("fine");
  });
  test("takes methods in upper case only", () => {
    expect(problems(net({ rules: [{ host: "a.example", methods: ["get"] }] }))).toContain("upper case");
  });
});

describe("an override", () => {
  const base = parsePolicy(
    net({
      allowlist: ["api.example.com", "other.example.com"],
      inspect: ["api.example.com"],
      rules: [{ host: "*.example.com", methods: ["GET", "POST"], paths: ["/v1/**", "/v2/*"] }],
      secrets: { API_TOKEN: { ...token, headers: ["authorization", "x-api-key"] } },
    }),
  );
  const outcome = (override: PolicyOverride, authority: "model" | "host" = "model"): string => {
    try {
      return mergePolicy(base, override, authority)
        .changes.map(({ rule, direction }) => `${rule} ${direction}`)
        .join();
    } catch (error) {
      if (error instanceof CodecellError && error.code === "override_refused") return "refused";
      throw error;
    }
  };

  test.each<[string, PolicyOverride["net"]]>([
    ["another secret", { secrets: { OTHER: token } }],
    ["another source", { secrets: { API_TOKEN: { ...token, from: "env:OTHER" } } }],
    [
      "another host for a secret",
      { secrets: { API_TOKEN: { ...token, hosts: ["api.example.com", "other.example.com"] } } },
    ],
    ["another field", { secrets: { API_TOKEN: { ...token, headers: ["cookie"] } } }],
    ["the query", { secrets: { API_TOKEN: { ...token, query: true } } }],
    ["plain text", { secrets: { API_TOKEN: { ...token, plaintext: true } } }],
    ["less inspection", { inspect: [] }],
    ["no rules", { rules: [] }],
    ["another method", { rules: [{ host: "*.example.com", methods: ["DELETE"], paths: ["/v1/**"] }] }],
    ["every method", { rules: [{ host: "*.example.com", paths: ["/v1/**"] }] }],
    ["another path", { rules: [{ host: "*.example.com", methods: ["GET"], paths: ["/**"] }] }],
    [
      "a rule for one of the hosts that opens more",
      { rules: [{ host: "*.example.com", methods: ["GET"], paths: ["/v1/**"] }, { host: "api.example.com" }] },
    ],
    [
      "a rule for another port of a host",
      { rules: [{ host: "*.example.com", methods: ["GET"], paths: ["/v1/**"] }, { host: "api.example.com:8443" }] },
    ],
    [
      "a rule for fewer hosts, which frees the others",
      { rules: [{ host: "api.example.com", methods: ["GET"], paths: ["/v1/**"] }] },
    ],
  ])("may not ask for %s", (_, override) => {
    expect(outcome({ net: override })).toBe("refused");
    expect(outcome({ net: override }, "host")).toBe("refused");
  });

  test.each<[string, PolicyOverride["net"], string]>([
    ["no secret", { secrets: {} }, "net.secrets narrower"],
    ["fewer fields", { secrets: { API_TOKEN: token } }, "net.secrets narrower"],
    ["more inspection", { inspect: true }, "net.inspect narrower"],
    [
      "fewer methods and paths",
      { rules: [{ host: "*.example.com", methods: ["GET"], paths: ["/v1/**"] }] },
      "net.rules narrower",
    ],
    [
      "a rule where there was none",
      {
        rules: [
          { host: "*.example.com", methods: ["GET"], paths: ["/v1/**"] },
          { host: "b.example", methods: ["GET"] },
        ],
      },
      "net.rules narrower",
    ],
  ])("may ask for %s", (_, override, change) => {
    expect(outcome({ net: override })).toBe(change);
  });

  test("an override from a host program gets the secrets that the ceiling names", () => {
    const secrets = { API_TOKEN: token, OTHER: { ...token, from: "env:OTHER" } };
    const roomy = parsePolicy({ ...net({ inspect: true }), overrides: { ceiling: { net: { secrets } } } });
    expect(mergePolicy(roomy, { net: { secrets } }, "host").changes).toMatchObject([
      { rule: "net.secrets", direction: "wider" },
    ]);
    expect(() => mergePolicy(roomy, { net: { secrets } }, "model")).toThrow(/net\.secrets/);
  });
});
