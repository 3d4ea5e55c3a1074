import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { closedAddress } from "./rules/address.ts";
import { type Denial, type DenialCode, decide, type EgressRules, malformed, type Permission } from "./rules/decide.ts";
import { type ParsedTarget, parseAuthority, parseForwardUrl, parsePair, type Target } from "./rules/target.ts";

const rules: EgressRules = {
  enabled: true,
  allowlist: [
    "good.example",
    "*.wide.example",
    "git.example:22",
    "*.googleapis.com",
    "*.com",
    "api.mistral.ai",
    "xn--bcher-kva.example:22",
  ],
  deny: ["bad.wide.example", "*.worse.wide.example", "shut.wide.example:443"],
};

type Verdict = "allowed" | DenialCode;

const connects: [string, Verdict, string][] = [
  ["good.example:443", "allowed", "the name itself"],
  ["GOOD.Example:443", "allowed", "case"],
  ["good.example.:443", "allowed", "the root's dot"],
  ["a.wide.example:443", "allowed", "a wildcard"],
  ["a.b.wide.example:443", "allowed", "a wildcard over two labels"],
  ["git.example:22", "allowed", "a port that a rule names"],
  ["api.mistral.ai:443", "allowed", "a model's host that an entry names"],
  ["xn--bcher-kva.wide.example:443", "allowed", "punycode as given"],
  ["wide.example:443", "not_named", "the wildcard's own name"],
  ["evilwide.example:443", "not_named", "a suffix that is not a whole label"],
  ["good.example.evil.example:443", "not_named", "an allowed name in front"],
  ["evil-good.example:443", "not_named", "an allowed name behind a hyphen"],
  ["git.example:443", "port_not_named", "another port of a host"],
  ["good.example:22", "port_not_named", "an odd port"],
  ["good.example:8443", "port_not_named", "a port that looks like TLS"],
  ["bad.wide.example:443", "denied", "deny wins over a wildcard"],
  ["BAD.wide.example.:443", "denied", "deny in another spelling"],
  ["bad.wide.example:80", "denied", "deny without a port means every port"],
  ["x.worse.wide.example:443", "denied", "a wildcard that denies"],
  ["shut.wide.example:443", "denied", "deny of one port"],
  ["generativelanguage.googleapis.com:443", "model_host", "a model's host under a wildcard"],
  ["api.anthropic.com:443", "model_host", "a model's host under a wildcard of a whole domain"],
  ["bedrock-runtime.eu-west-1.amazonaws.com:443", "model_host", "a model's host with a region"],
  ["good.example", "malformed", "no port"],
  ["good.example:", "malformed", "an empty port"],
  ["good.example:0", "malformed", "port 0"],
  ["good.example:0443", "malformed", "an octal port"],
  ["good.example:+443", "malformed", "a signed port"],
  ["good.example:0x1bb", "malformed", "a hexadecimal port"],
  ["good.example:65979", "malformed", "a port that wraps to 443"],
  ["good.example:443:443", "malformed", "two ports"],
  ["good.example:443@evil.example:443", "malformed", "user information"],
  ["user:pass@good.example:443", "malformed", "a password"],
  ["good.example:443/x", "malformed", "a path"],
  ["http://good.example:443/", "malformed", "a URL"],
  ["good.example?.evil.example:443", "malformed", "a question mark"],
  ["good.example#.evil.example:443", "malformed", "a fragment"],
  ["good.example\\.evil.example:443", "malformed", "a backslash"],
  ["evil.example\0.good.example:443", "malformed", "NUL, where resolvers stop"],
  ["evil.example%00.good.example:443", "malformed", "NUL in percent form"],
  ["good.example .evil.example:443", "malformed", "a space"],
  ["good.example\r\n.evil.example:443", "malformed", "a line break"],
  ["good。example:443", "malformed", "an ideographic full stop"],
  ["ſ.wide.example:443", "malformed", "a letter that IDNA turns into s"],
  ["go\u00adod.example:443", "malformed", "a soft hyphen, which IDNA drops"],
  ["bücher.wide.example:443", "malformed", "IDN: HTTP carries ASCII, the client writes punycode"],
  ["good..example:443", "malformed", "an empty label"],
  ["good.example..:443", "malformed", "two dots at the end"],
  ["-a.wide.example:443", "malformed", "a label that begins with a hyphen"],
  [`${"a".repeat(64)}.wide.example:443`, "malformed", "a label of 64 characters"],
  [`${"a.".repeat(125)}wide.example:443`, "malformed", "a name that is too long"],
  ["localhost:443", "malformed", "a name without a dot"],
  ["metadata:80", "malformed", "a name that a search domain completes"],
  ["127.0.0.1:443", "malformed", "an address"],
  ["127.0.0.1.:443", "malformed", "an address with the root's dot"],
  ["127.1:443", "malformed", "a short address"],
  ["2130706433:443", "malformed", "a decimal address"],
  ["0x7f000001:443", "malformed", "a hexadecimal address"],
  ["0x7f.1:443", "malformed", "a mixed address"],
  ["0177.0.0.1:443", "malformed", "an octal address"],
  ["017700000001:443", "malformed", "an octal number"],
  ["127.0.0.01:443", "malformed", "a leading zero"],
  ["1.2.3:443", "malformed", "three numbers"],
  ["①②⑦.0.0.1:443", "malformed", "circled digits"],
  ["[::1]:443", "malformed", "IPv6 loopback"],
  ["[::ffff:127.0.0.1]:443", "malformed", "mapped IPv4"],
  ["[::ffff:7f00:1]:443", "malformed", "mapped IPv4 in hexadecimal"],
  ["[64:ff9b::7f00:1]:443", "malformed", "NAT64"],
  ["[fe80::1%25lo]:443", "malformed", "a zone"],
  ["::1:443", "malformed", "IPv6 without brackets"],
];

const urls: [string, Verdict, string][] = [
  ["http://good.example/", "allowed", "plain HTTP"],
  ["HTTP://good.example:80/a?b", "allowed", "the port that is implied"],
  ["http://good.example?q=1", "allowed", "a query without a path"],
  ["https://good.example/", "malformed", "the proxy does not start TLS itself"],
  ["ftp://good.example/", "malformed", "another protocol"],
  ["//good.example/", "malformed", "no scheme"],
  ["/path", "malformed", "origin form"],
  ["http://good.example@evil.example/", "malformed", "user information"],
  ["http://good.example:80@evil.example/", "malformed", "user information that looks like a port"],
  ["http://evil.example\\@good.example/", "malformed", "a backslash"],
  ["http://evil.example#@good.example/", "malformed", "a fragment"],
  ["http://evil.example/http://good.example/", "not_named", "an allowed URL in a path"],
  ["http://evil.example?.good.example/", "not_named", "an allowed name in a query"],
  ["http://good.example:443/", "needs_tls", "plain HTTP to the TLS port"],
  ["http://good.example:8080/", "port_not_named", "an odd port"],
  ["http://169.254.169.254/latest/meta-data/", "malformed", "the metadata service"],
  ["http://[fd00:ec2::254]/", "malformed", "the metadata service over IPv6"],
];

const socks: [string, Verdict, string][] = [
  ["git.example:22", "allowed", "a port that a rule names"],
  ["bücher.example:22", "allowed", "IDN, which SOCKS can carry"],
  ["BÜCHER.example.:22", "allowed", "IDN in another case, with the root's dot"],
  ["xn--bcher-kva.example:22", "allowed", "the same in punycode"],
  ["bu\u0308cher.example:22", "malformed", "IDN with a combining mark"],
  ["b\u00fccher.example\u3002:22", "malformed", "an ideographic full stop"],
  ["git.exam\u00adple:22", "malformed", "a soft hyphen, which IDNA drops"],
  ["git.example\u0000.bücher.example:22", "malformed", "NUL before an IDN"],
  ["gıt.example:22", "not_named", "a letter that looks like another"],
  ["git.eхample:22", "not_named", "a letter of another script"],
  ["\uff47it.example:22", "malformed", "a full-width letter"],
  ["wor\u212a.example:22", "malformed", "the Kelvin sign, which some programs read as k"],
  ["b\ufffdcher.example:22", "malformed", "bytes that are not UTF-8"],
  ["①②⑦.0.0.1:22", "malformed", "circled digits"],
  ["good.example:443", "socks_needs_port", "a port that no rule names"],
  ["evil.example\u0000.good.example:22", "malformed", "NUL, where resolvers stop"],
  ["127.0.0.1:22", "malformed", "an address"],
  ["git.example:0", "malformed", "port 0"],
];

const addresses: [string, "open" | "closed", string][] = [
  ["93.184.216.34", "open", "a public address"],
  ["2606:2800:220:1::1", "open", "a public IPv6 address"],
  ["127.0.0.1", "closed", "loopback"],
  ["127.255.255.254", "closed", "the rest of loopback"],
  ["0.0.0.0", "closed", "this host"],
  ["10.1.2.3", "closed", "private"],
  ["172.31.255.255", "closed", "private, the upper end"],
  ["172.32.0.1", "open", "just outside the private range"],
  ["192.168.0.1", "closed", "private"],
  ["100.64.0.1", "closed", "CGNAT"],
  ["100.100.100.200", "closed", "metadata in CGNAT"],
  ["169.254.169.254", "closed", "metadata"],
  ["168.63.129.16", "closed", "metadata at a public address"],
  ["192.0.0.192", "closed", "metadata in a reserved network"],
  ["198.18.0.1", "closed", "benchmarks"],
  ["224.0.0.1", "closed", "multicast"],
  ["255.255.255.255", "closed", "broadcast"],
  ["::", "closed", "this host"],
  ["::1", "closed", "loopback"],
  ["::7f00:1", "closed", "IPv4-compatible loopback"],
  ["::ffff:127.0.0.1", "closed", "mapped"],
  ["::ffff:8.8.8.8", "closed", "mapped, public inside"],
  ["64:ff9b::a9fe:a9fe", "closed", "NAT64 to metadata"],
  ["64:ff9b:1::1", "closed", "local NAT64"],
  ["2002:7f00:1::", "closed", "6to4 of loopback"],
  ["2001:0:7f00:1::", "closed", "Teredo"],
  ["2001:db8::1", "closed", "documentation"],
  ["fd00:ec2::254", "closed", "metadata in a private network"],
  ["fe80::1", "closed", "link-local"],
  ["fe80::1%eth0", "closed", "a zone"],
  ["fec0::1", "closed", "site-local"],
  ["ff02::1", "closed", "multicast"],
  ["5f00::1", "closed", "outside the public range"],
  ["127.1", "closed", "a shortened address"],
  ["example.com", "closed", "not an address at all"],
];

describe("a CONNECT request", () => {
  test.each(connects)("for %j is %s (%s)", (text, expected) => expect(verdictOn("connect", text)).toBe(expected));
});

describe("a plain request", () => {
  test.each(urls)("for %j is %s (%s)", (text, expected) => expect(verdictOn("http", text)).toBe(expected));
});

describe("the address", () => {
  test.each(addresses)("%s is %s (%s)", (address, expected) => {
    expect(closedAddress(address) === undefined ? "open" : "closed").toBe(expected);
  });
});

describe("a SOCKS request", () => {
  test.each(socks)("for %j is %s (%s)", (text, expected) => {
    const [, host = "", port] = /^(.*):(\d+)$/s.exec(text) ?? [];
    const parsed = parsePair(host, Number(port));
    const verdict = parsed.ok ? decide({ ...parsed.target, via: "socks" }, rules) : undefined;
    expect(verdict === undefined ? "malformed" : verdict.allow ? "allowed" : verdict.code).toBe(expected);
  });
});

test("an empty allowlist and a policy without a network allow nothing", () => {
  expect(decideText("connect", "good.example:443", { enabled: true, allowlist: [], deny: [] })).toMatchObject({
    code: "not_named",
    reason: "good.example is not in net.allowlist",
    remedy: "add good.example to net.allowlist",
  });
  expect(decideText("connect", "good.example:443", { ...rules, enabled: false })).toMatchObject({
    code: "network_off",
  });
});

test("only a port that the allowlist names may carry anything but TLS, and 443 never may", () => {
  const open = { enabled: true, allowlist: ["a.example", "a.example:22", "b.example:443"], deny: [] };
  const needsTls = (text: string) => decideText("connect", text, open);
  expect(needsTls("a.example:22")).toMatchObject({ needsTls: false });
  expect(needsTls("a.example:80")).toMatchObject({ needsTls: true });
  expect(needsTls("b.example:443")).toMatchObject({ needsTls: true });
});

test("docs/network.md has every row of these tables", () => {
  const page = readFileSync(new URL("../../docs/network.md", import.meta.url), "utf8");
  const rows = [
    ...connects.map(([text, verdict, what]) => row("CONNECT", text, verdict, what)),
    ...urls.map(([text, verdict, what]) => row("http", text, verdict, what)),
    ...socks.map(([text, verdict, what]) => row("SOCKS", text, verdict, what)),
    ...addresses.map(([text, verdict, what]) => row("address", text, verdict, what)),
  ];
  const missing = rows.filter((one) => !page.includes(one));
  expect(missing).toEqual([]);
});

function verdictOn(via: "http" | "connect", text: string): Verdict {
  const verdict = decideText(via, text, rules);
  return verdict.allow ? "allowed" : verdict.code;
}

function row(kind: string, text: string, verdict: string, what: string): string {
  const shown = text.length > 60 ? `${text.slice(0, 24)}…` : text;
  // escape characters that are invisible or look like others
  const unseen = /\p{M}|[\u00ad\u0400-\u04ff\u212a\u3002\uff47\ufffd]/gu;
  const escaped = JSON.stringify(shown)
    .slice(1, -1)
    .replace(unseen, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `| ${kind} | \`${escaped}\` | ${verdict} | ${what} |`;
}

/** Parses and decides a request as the proxy does. */
function decideText(
  via: "http" | "connect",
  text: string,
  rules: EgressRules,
): (Permission & { target: Target }) | Denial {
  const parsed: ParsedTarget = via === "http" ? parseForwardUrl(text) : parseAuthority(text);
  if (!parsed.ok) return malformed(parsed.reason);
  const verdict = decide({ ...parsed.target, via }, rules);
  return verdict.allow ? { ...verdict, target: parsed.target } : verdict;
}
