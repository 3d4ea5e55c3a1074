import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decide, type EgressRules, type Permission, type Via } from "../../src/egress/rules/decide.ts";
import { judgeRequest } from "../../src/egress/rules/request-rules.ts";
import { parseAuthority, parseForwardUrl, parsePair } from "../../src/egress/rules/target.ts";
import { hosts as hostOrder, inspected, requests } from "../../src/policy/change/rule-orders.ts";
import { hostPattern } from "../../src/policy/network/host-pattern.ts";
import { isInspected } from "../../src/policy/network/inspect.ts";
import { isModelHost } from "../../src/policy/network/model-hosts.ts";
import { patienceMs, tries } from "../support/fuzz/long-mode.ts";

const labels = ["a", "b", "evil", "api", "openai", "xn--bcher-kva", "a-b", "com", "example"];
const ends = ["example.com", "b.example.com", "openai.com", "com.example"];
const name = fc
  .tuple(fc.array(fc.constantFrom(...labels), { maxLength: 2 }), fc.constantFrom(...ends))
  .map(([before, end]) => [...before, end].join("."));
const port = fc.constantFrom(22, 80, 443, 8443);
const pattern = fc
  .tuple(fc.boolean(), name, fc.option(port, { nil: undefined }))
  .map(([isWild, host, at]) => `${isWild ? "*." : ""}${host}${at === undefined ? "" : `:${at}`}`);
const patterns = fc.array(pattern, { maxLength: 4 });
const via = fc.constantFrom<Via>("http", "connect", "socks");

/** Written apart from the code under test: compares label by label, from the end. */
function oracle(entry: string, host: string): boolean {
  const [wanted = ""] = entry.split(":");
  const [want, have] = [wanted.split(".").reverse(), host.split(".").reverse()];
  const isWild = want.at(-1) === "*";
  const fixed = isWild ? want.slice(0, -1) : want;
  if (isWild ? have.length <= fixed.length : have.length !== fixed.length) return false;
  return fixed.every((label, at) => label === have[at]);
}

function expected(host: string, at: number, how: Via, { allowlist, deny }: EgressRules): boolean {
  const isFor = (entry: string, implied: readonly number[]) => {
    const [, own] = entry.split(":");
    return own === undefined ? implied.includes(at) : Number(own) === at;
  };
  if (deny.some((entry) => oracle(entry, host) && isFor(entry, [at]))) return false;
  const named = allowlist.filter((entry) => oracle(entry, host));
  if (isModelHost(host) && !named.some((entry) => entry.split(":")[0] === host)) return false;
  if (how === "http" && at === 443) return false;
  return named.some((entry) => isFor(entry, how === "socks" ? [] : [80, 443]));
}

const permits = (host: string, at: number, how: Via, allowlist: string[], deny: string[] = []) =>
  decide({ host, port: at, via: how }, { enabled: true, allowlist, deny });

describe("host patterns", () => {
  test(
    "a host is reached exactly if an independent matcher of labels allows it and nothing denies it",
    () => {
      const property = fc.property(name, port, via, patterns, patterns, (host, at, how, allowlist, deny) => {
        const rules = { enabled: true, allowlist, deny };
        expect(decide({ host, port: at, via: how }, rules).allow).toBe(expected(host, at, how, rules));
      });
      fc.assert(property, tries(3_000));
    },
    patienceMs,
  );

  test(
    "an allowlist that narrows another one opens no connection that the other refuses, and lifts no need for TLS",
    () => {
      const property = fc.property(name, port, via, patterns, patterns, (host, at, how, a, b) => {
        for (const [to, from] of [
          [a, b],
          [hostOrder.meet?.(a, b) ?? [], a],
          [hostOrder.meet?.(a, b) ?? [], b],
          [a, hostOrder.join?.(a, b) ?? a],
        ] as const) {
          if (!hostOrder.narrows(to, from)) continue;
          const narrow = permits(host, at, how, to);
          if (!narrow.allow) continue;
          // SOCKS needs an entry with the port. Where TLS is needed, it reaches nothing that CONNECT does not reach.
          const wide = permits(host, at, narrow.needsTls ? "connect" : how, from);
          expect([to, from, wide.allow]).toEqual([to, from, true]);
          if ((wide as Permission).needsTls) expect([to, from, narrow.needsTls]).toEqual([to, from, true]);
        }
      });
      fc.assert(property, tries(3_000));
    },
    patienceMs,
  );

  test(
    "inspection that narrows covers every host and port that was inspected before",
    () => {
      const property = fc.property(name, port, patterns, patterns, (host, at, to, from) => {
        if (!inspected.narrows(to, from) || !isInspected(from, host, at)) return;
        expect(isInspected(to, host, at)).toBe(true);
      });
      fc.assert(property, tries(2_000));
    },
    patienceMs,
  );

  const rule = fc.record(
    {
      host: pattern,
      methods: fc.subarray(["GET", "POST", "PUT"], { minLength: 1 }),
      paths: fc.subarray(["/v1/**", "/v1/a", "/*"], { minLength: 1 }),
    },
    { requiredKeys: ["host"] },
  );

  test(
    "request rules that narrow others allow no request that the others refuse",
    () => {
      const asked = fc.record({
        host: name,
        port,
        method: fc.constantFrom("GET", "POST", "PUT", "DELETE"),
        path: fc.constantFrom("/", "/v1/a", "/v1/b/c", "/v2"),
        fields: fc.constant([]),
      });
      const property = fc.property(
        asked,
        fc.array(rule, { maxLength: 3 }),
        fc.array(rule, { maxLength: 3 }),
        (request, a, b) => {
          for (const [to, from] of [
            [a, b],
            [[...a, ...b], a],
            [a, [...a, ...b]],
          ] as const) {
            if (!requests.narrows([...to], [...from]) || judgeRequest(request, to) !== undefined) continue;
            expect([to, from, judgeRequest(request, from)]).toEqual([to, from, undefined]);
          }
        },
      );
      fc.assert(property, tries(3_000));
    },
    patienceMs,
  );
});

describe("host names from a client", () => {
  const odd = fc.oneof(
    fc.string({ unit: "binary", maxLength: 30 }),
    fc.string({
      unit: fc.constantFrom(
        "a",
        ".",
        ":",
        "@",
        "[",
        "]",
        "%",
        "\\",
        "/",
        "*",
        "\0",
        "。",
        "ſ",
        "\u00ad",
        "1",
        "-",
        "é",
      ),
    }),
    name,
  );
  const around = fc.tuple(
    odd,
    fc.constantFrom("", ".", ":443", ".good.example", ".good.example:443", "@good.example:443"),
    odd,
  );

  test(
    "are refused or become one plain name that a pattern allows label by label, whatever they contain",
    () => {
      const allowlist = ["good.example", "*.good.example", "a.example.com"];
      const property = fc.property(around, fc.boolean(), ([before, middle, after], isFront) => {
        const text = isFront ? `${before}${middle}` : `${before}${middle}${after}`;
        for (const parsed of [
          parseAuthority(text),
          parseAuthority(text, 443),
          parseForwardUrl(`http://${text}/`),
          parsePair(text, 443),
        ]) {
          if (!parsed.ok) continue;
          const { host, port: at } = parsed.target;
          expect(host).toMatch(/^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9_-]*[a-z][a-z0-9_-]*$/);
          expect(at).toBeGreaterThan(0);
          if (!permits(host, at, "connect", allowlist).allow) continue;
          expect(allowlist.some((entry) => oracle(entry, host))).toBe(true);
        }
      });
      const examples: [[string, ".", string], boolean][] = [[["example.com", ".", "_"], false]];
      fc.assert(property, { ...tries(3_000), examples });
    },
    patienceMs,
  );

  test(
    "a pattern that the policy accepts is one plain name, and accepting it again changes nothing",
    () => {
      const property = fc.property(around, ([before, middle, after]) => {
        const parsed = hostPattern().safeParse(`${before}${middle}${after}`);
        if (!parsed.success) return;
        expect(parsed.data).toMatch(/^(?:\*\.)?[a-z0-9.-]+(?::[1-9][0-9]{0,4})?$/);
        expect(hostPattern().parse(parsed.data)).toBe(parsed.data);
      });
      fc.assert(property, tries(2_000));
    },
    patienceMs,
  );
});
