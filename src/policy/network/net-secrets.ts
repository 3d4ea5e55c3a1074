import { z } from "zod";
import { once } from "../../lib/once.ts";
import { hostPattern } from "./host-pattern.ts";

/** Headers that control how a request is sent: a secret in one of them would change the request, or never arrive. */
const notForSecrets =
  /^(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|keep-alive|range|proxy-.*)$/;

export const netSecret = once(() => {
  /** Where the value comes from. Messages must not start with "expected", which adds what was written: it may be the secret. */
  const source = z
    .string("a secret comes from env:NAME or file:PATH")
    .max(4096, "a secret comes from env:NAME or file:PATH")
    .regex(/^(?:env:[A-Za-z_][A-Za-z0-9_]{0,127}|file:[^\0]+)$/, {
      message: "a secret comes from env:NAME or file:PATH; its value is never written into a policy",
    });

  const secretHost = hostPattern().refine(
    (host) => !host.startsWith("*"),
    "a secret needs hosts that are named one by one, without wildcards",
  );

  const headerName = z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, "expected a header name in lower case such as authorization")
    .refine(
      (name) => !notForSecrets.test(name),
      "this header controls how the request is sent and cannot carry a secret",
    );

  return z.strictObject({
    from: source.describe("Where codecell reads the value when a session starts: env:NAME or file:PATH on the host."),
    hosts: z
      .array(secretHost)
      .min(1, "name at least one host")
      .max(64, "at most 64 hosts")
      .describe("The only hosts that get the value, named one by one."),
    headers: z
      .array(headerName)
      .max(16, "at most 16 headers")
      .default(["authorization"])
      .describe("Request headers in which the placeholder is replaced."),
    query: z
      .boolean()
      .default(false)
      .describe("Whether the placeholder is also replaced in the URL's query, which servers often log."),
    plaintext: z
      .boolean()
      .default(false)
      .describe("Whether the value may be sent over plain HTTP, where anyone on the way can read it."),
  });
});
export type NetSecret = z.output<ReturnType<typeof netSecret>>;

/** Whether every value that `to` sends is sent to the same places by `from`. */
export function secretsNarrow(
  to: Readonly<Record<string, NetSecret>>,
  from: Readonly<Record<string, NetSecret>>,
): boolean {
  return Object.entries(to).every(([name, secret]) => {
    const own = Object.hasOwn(from, name) ? from[name] : undefined;
    return (
      own !== undefined &&
      secret.from === own.from &&
      secret.hosts.every((host) => own.hosts.includes(host)) &&
      secret.headers.every((header) => own.headers.includes(header)) &&
      (!secret.query || own.query) &&
      (!secret.plaintext || own.plaintext)
    );
  });
}

/** What both send: the same value, to the hosts and in the places that both name. */
export function commonSecrets(
  a: Readonly<Record<string, NetSecret>>,
  b: Readonly<Record<string, NetSecret>>,
): Record<string, NetSecret> {
  const common = Object.entries(a).flatMap(([name, secret]): [string, NetSecret][] => {
    const other = Object.hasOwn(b, name) ? b[name] : undefined;
    if (other === undefined || other.from !== secret.from) return [];
    const hosts = secret.hosts.filter((host) => other.hosts.includes(host));
    const headers = secret.headers.filter((header) => other.headers.includes(header));
    const query = secret.query && other.query;
    const plaintext = secret.plaintext && other.plaintext;
    return hosts.length === 0 ? [] : [[name, { from: secret.from, hosts, headers, query, plaintext }]];
  });
  return Object.fromEntries(common);
}

/** `API_TOKEN from env:API_TOKEN → api.example.com`; a policy does not contain the value. */
export function showSecret([name, { from, hosts, plaintext }]: [string, NetSecret]): string {
  return `${name} from ${from} → ${hosts.join(" ")}${plaintext ? " (plain HTTP too)" : ""}`;
}
