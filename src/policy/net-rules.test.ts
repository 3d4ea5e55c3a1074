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

describe("a secret in net.secrets", () => {
  test("goes into the authorization header only, and only over inspected TLS, by default", () => {
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

  test("a secret whose value is written in place of its source is rejected without printing it", () => {
    const message = problems(net({ inspect: true, secrets: { API_TOKEN: { ...token, from: "hunter2-hunter2" } } }));
    expect(message).toContain("a secret comes from env:NAME or file:PATH");
    expect(message).not.toContain("hunter2");
  });

  test.each([
    ["with a wildcard host", { hosts: ["*.example.com"] }, "named one by one"],
    ["without a host", { hosts: [] }, "name at least one host"],
    ["in the host header", { headers: ["host"] }, "cannot carry a secret"],
    ["in the content-length header", { headers: ["content-length"] }, "cannot carry a secret"],
    ["in a header name in upper case", { headers: ["Authorization"] }, "lower case"],
  ])("a secret %s is refused", (_, more, reason) => {
    expect(problems(net({ inspect: true, secrets: { API_TOKEN: { ...token, ...more } } }))).toContain(reason);
  });

  test.each(["PATH", "https_proxy", "SSL_CERT_FILE", "LD_PRELOAD"])("cannot be the variable %s", (name) => {
    expect(problems(net({ inspect: true, secrets: { [name]: token } }))).not.toBe("fine");
  });

  test("cannot use a variable that env also sets", () => {
    const both = { ...net({ inspect: true, secrets: { API_TOKEN: token } }), env: { API_TOKEN: "x" } };
    expect(problems(both)).toContain("env also sets API_TOKEN");
  });

  test("may come from a file next to the policy, but not from one that the cell can read", () => {
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

  test("is shown as its name, source and hosts", () => {
    const policy = parsePolicy(net({ inspect: ["api.example.com"], secrets: { API_TOKEN: token } }));
    expect(showRule(policy, "net.secrets")).toBe("API_TOKEN from env:API_TOKEN → api.example.com");
    expect(policyRules(parsePolicy({})).find(({ rule }) => rule === "net.secrets")?.value).toBe("none");
  });
});

describe("a wrong host", () => {
  test.each([
    ["https://api.example.com", "expected a host without scheme and path, ", "api.example.com"],
    ["https://me:pw@API.example.com:8443/v1?x=1", "expected a host without scheme and path, ", "api.example.com:8443"],
    ["*.example.com/v1", "expected a host without a path, ", "*.example.com"],
    ["API.example.com", "expected a host in lower case, ", "api.example.com"],
    ["Bücher.example", "expected a host in lower case, ", "bücher.example"],
    [" a.example.", "expected a host in lower case such as ", "a.example"],
    [".example.com", "expected a host in lower case such as ", "*.example.com"],
  ])("written as %j is answered with the host that was meant", (host, message, meant) => {
    const said = problems(net({ allowlist: [host] }));
    expect(said).toContain(`net.allowlist[0]: ${message}`);
    expect(said).toMatch(/\(did you mean (\S+)\?\)$/);
    expect(said).toContain(`(did you mean ${meant}?)`);
    expect(parsePolicy(net({ allowlist: [meant] })).net.allowlist).toHaveLength(1);
  });

  test.each([
    ["127.0.0.1", "an IP address cannot be named"],
    ["10.0.0.0/8", "an IP address cannot be named"],
    ["http://[::1]:8080/", "an IP address cannot be named"],
    ["fd00::/8", "an IP address cannot be named"],
    ["0x7f.1", "an IP address cannot be named"],
    ["localhost", "services of this machine cannot be reached"],
    ["http://localhost:3000/x", "services of this machine cannot be reached"],
    ["metadata:80", "expected a name of at least two labels"],
    ["*", '"*" alone would stand for every host'],
    ["*:443", '"*" alone would stand for every host'],
    ["*.com", "expected a domain of at least two labels"],
    ["api*.example.com", "expected `*` only as the whole first label"],
    ["a.example:0", "expected a port from 1 to 65535"],
    ["a.example:65536", "a port is at most 65535"],
  ])("written as %j is answered with what is wrong, and no guess", (host, message) => {
    const said = problems(net({ allowlist: [host] }));
    expect(said).toContain(`net.allowlist[0]: ${message}`);
    expect(said).not.toContain("did you mean");
  });

  test("is explained in every rule that names hosts, and in an override's ceiling", () => {
    const wrong = "https://a.example";
    const places: PolicyInput[] = [
      net({ deny: [wrong] }),
      net({ rules: [{ host: wrong, paths: ["/"] }] }),
      net({ secrets: { KEY: { from: "env:KEY", hosts: [wrong] } } }),
      { overrides: { ceiling: { net: { allowlist: [wrong] } } } },
    ];
    for (const place of places) expect(problems(place)).toContain("(did you mean a.example?)");
  });

  test("that is a string instead of a list is still answered with the list", () => {
    const said = problems({ net: { allowlist: "a.example" } } as unknown as PolicyInput);
    expect(said).toContain('(did you mean ["a.example"]?)');
  });
});

describe("net.inspect", () => {
  test("takes true for all hosts, or a list of hosts", () => {
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
  test.each(["v1", "/a/../b", "/a//b", "/a**", "/a?b", "/a b", "/a;b"])("refuses the path %j", (path) => {
    expect(problems(net({ rules: [{ host: "a.example", paths: [path] }] }))).not.toBe("fine");
  });
  test("takes methods in upper case only", () => {
    expect(problems(net({ rules: [{ host: "a.example", methods: ["get"] }] }))).toContain("upper case");
  });
});

describe("an override of the network rules", () => {
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
    ["another source of a secret", { secrets: { API_TOKEN: { ...token, from: "env:OTHER" } } }],
    [
      "another host for a secret",
      { secrets: { API_TOKEN: { ...token, hosts: ["api.example.com", "other.example.com"] } } },
    ],
    ["another header for a secret", { secrets: { API_TOKEN: { ...token, headers: ["cookie"] } } }],
    ["a secret in the query", { secrets: { API_TOKEN: { ...token, query: true } } }],
    ["a secret over plain HTTP", { secrets: { API_TOKEN: { ...token, plaintext: true } } }],
    ["less inspection", { inspect: [] }],
    ["no rules", { rules: [] }],
    ["another method", { rules: [{ host: "*.example.com", methods: ["DELETE"], paths: ["/v1/**"] }] }],
    ["every method", { rules: [{ host: "*.example.com", paths: ["/v1/**"] }] }],
    ["another path", { rules: [{ host: "*.example.com", methods: ["GET"], paths: ["/**"] }] }],
    [
      "a wider rule for one of the hosts",
      { rules: [{ host: "*.example.com", methods: ["GET"], paths: ["/v1/**"] }, { host: "api.example.com" }] },
    ],
    [
      "a rule for another port of a host",
      { rules: [{ host: "*.example.com", methods: ["GET"], paths: ["/v1/**"] }, { host: "api.example.com:8443" }] },
    ],
    [
      "a rule for fewer hosts, which leaves the others unrestricted",
      { rules: [{ host: "api.example.com", methods: ["GET"], paths: ["/v1/**"] }] },
    ],
  ])("may not ask for %s", (_, override) => {
    expect(outcome({ net: override })).toBe("refused");
    expect(outcome({ net: override }, "host")).toBe("refused");
  });

  test.each<[string, PolicyOverride["net"], string]>([
    ["no secrets", { secrets: {} }, "net.secrets narrower"],
    ["fewer headers for a secret", { secrets: { API_TOKEN: token } }, "net.secrets narrower"],
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

  test("an override from a host program may add the secrets that the ceiling names", () => {
    const secrets = { API_TOKEN: token, OTHER: { ...token, from: "env:OTHER" } };
    const roomy = parsePolicy({ ...net({ inspect: true }), overrides: { ceiling: { net: { secrets } } } });
    expect(mergePolicy(roomy, { net: { secrets } }, "host").changes).toMatchObject([
      { rule: "net.secrets", direction: "wider" },
    ]);
    expect(() => mergePolicy(roomy, { net: { secrets } }, "model")).toThrow(/net\.secrets/);
  });
});
