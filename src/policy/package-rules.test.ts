import { describe, expect, test } from "vitest";
import { mergePolicy } from "./change/merge.ts";
import { parsePolicy } from "./file/parse-policy.ts";
import { showRule } from "./rules.ts";

const packages = (rules: object) => parsePolicy({ kernel: { packages: rules } }).kernel.packages;

describe("kernel.packages", () => {
  test("names are normalised, and an age can be in days", () => {
    expect(packages({ deny: ["Evil_Corp.*"], minAge: "7d" })).toMatchObject({
      deny: ["evil-corp-*"],
      minAgeMs: 7 * 24 * 3_600_000,
    });
    expect(packages({ minAge: "0s" }).minAgeMs).toBe(0);
  });

  test.each([
    { install: ["--index-url=https://evil.example"] },
    { install: ["-r other.txt"] },
    { install: ["./local"] },
    { install: ["a\n--pre"] },
    { index: ["http://packages.example/simple"] },
    { index: ["file:///srv/packages"] },
    { index: ["packages.example"] },
    { allow: ["a/b"] },
    { minAge: "7" },
    { minAge: "1000d" },
    { inside: "yes" },
    { insides: true },
  ])("%j is refused", (rules) => {
    expect(() => packages(rules)).toThrow(expect.objectContaining({ code: "policy_invalid" }));
  });

  test("an index on this machine may use plain http", () => {
    expect(packages({ index: ["http://127.0.0.1:8080/simple"] }).index).toHaveLength(1);
  });

  test("packages and fs.deps together are refused with the way out", () => {
    const input = { fs: { deps: "/srv/deps" }, kernel: { packages: { install: ["requests"] } } };
    expect(() => parsePolicy(input)).toThrow(/kernel\.packages: .*both be at \/deps: mount the directory elsewhere/);
  });

  test("a receipt shows neither passwords of an index nor hashes", () => {
    const shown = showRule(
      parsePolicy({
        kernel: {
          packages: {
            install: [`requests==2.32.0 --hash=sha256:${"a".repeat(64)}`],
            index: ["https://user:hunter2@packages.example/simple"],
            hashes: true,
          },
        },
      }),
      "kernel.packages",
    );
    expect(shown).toBe("requests==2.32.0; from https://packages.example/simple; hashes required");
  });

  test("programs install nothing unless the policy says so, and a receipt shows it if they may", () => {
    expect(packages({}).inside).toBe(false);
    const open = parsePolicy({ kernel: { packages: { inside: true } } });
    expect(showRule(open, "kernel.packages")).toBe("none; programs may install more");
  });
});

describe("an override of kernel.packages", () => {
  const operator = parsePolicy({
    kernel: {
      packages: { install: ["requests", "numpy"], deny: ["evil"], index: ["https://packages.example/simple"] },
    },
    overrides: { ceiling: { kernel: { packages: { install: ["pandas"], allow: ["*"] } } } },
  });
  const changed = (rules: object, authority: "host" | "model") =>
    mergePolicy(operator, { kernel: { packages: rules } }, authority).policy.kernel.packages;

  test("changes the parts that it names and leaves the others", () => {
    expect(changed({ install: ["numpy"] }, "model")).toEqual({ ...operator.kernel.packages, install: ["numpy"] });
    expect(changed({ deny: ["evil*", "other"] }, "model").deny).toEqual(["evil*", "other"]);
  });

  test("a host program gets what the ceiling adds, and no more", () => {
    expect(changed({ install: ["requests", "pandas"] }, "host").install).toEqual(["requests", "pandas"]);
    const refused = expect.objectContaining({ code: "override_refused" });
    expect(() => changed({ install: ["pandas"] }, "model")).toThrow(refused);
    expect(() => changed({ install: ["other"] }, "host")).toThrow(refused);
    expect(() => changed({ deny: [] }, "host")).toThrow(refused);
  });

  test("closing it to programs is allowed to everybody, opening it only under a ceiling", () => {
    const refused = expect.objectContaining({ code: "override_refused" });
    expect(() => changed({ inside: true }, "host")).toThrow(refused);
    const open = parsePolicy({ kernel: { packages: { inside: true } } });
    const closed = mergePolicy(open, { kernel: { packages: { inside: false } } }, "model");
    expect(closed.policy.kernel.packages.inside).toBe(false);
    const limit = parsePolicy({ overrides: { ceiling: { kernel: { packages: { inside: true } } } } });
    const opening = { kernel: { packages: { inside: true } } };
    expect(mergePolicy(limit, opening, "host").policy.kernel.packages.inside).toBe(true);
    expect(() => mergePolicy(limit, opening, "model")).toThrow(refused);
  });

  test("a model can allow fewer builds, and never more", () => {
    const builds = parsePolicy({ kernel: { packages: { sdists: ["google-*"] } } });
    const narrowed = (sdists: string[]) => mergePolicy(builds, { kernel: { packages: { sdists } } }, "model").policy;
    expect(narrowed(["google-auth"]).kernel.packages.sdists).toEqual(["google-auth"]);
    expect(narrowed([]).kernel.packages.sdists).toEqual([]);
    expect(() => narrowed(["*"])).toThrow(expect.objectContaining({ code: "override_refused" }));
    expect(() => changed({ sdists: ["numpy"] }, "model")).toThrow(
      expect.objectContaining({ code: "override_refused" }),
    );
  });

  test("no index can be added, removed or moved without a ceiling that names it", () => {
    const refused = expect.objectContaining({ code: "override_refused" });
    expect(() => changed({ index: [] }, "host")).toThrow(refused);
    expect(() => changed({ index: [] }, "model")).toThrow(refused);
  });
});
