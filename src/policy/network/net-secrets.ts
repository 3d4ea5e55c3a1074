import { z } from "zod";
import { hostPattern } from "./host-pattern.ts";

/** Fields that say how a message travels: a value in one of them would change the request, or never arrive. */
const notForSecrets =
  /^(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|keep-alive|range|proxy-.*)$/;

/** Where the value comes from. The words do not begin with "expected": whoever wrote the value here must not see it in a log. */
const source = z
  .string("a secret comes from env:NAME or file:PATH")
  .max(4096, "a secret comes from env:NAME or file:PATH")
  .regex(/^(?:env:[A-Za-z_][A-Za-z0-9_]{0,127}|file:[^\0]+)$/, {
    message: "a secret comes from env:NAME or file:PATH; its value is never written into a policy",
  });

const secretHost = hostPattern.refine(
  (host) => !host.startsWith("*"),
  "a secret goes to hosts that are named one by one",
);

const headerName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, "expected a header field in lower case such as authorization")
  .refine((name) => !notForSecrets.test(name), "this field says how a message travels and carries no secret");

export const netSecret = z.strictObject({
  from: source.describe("Where the host finds the value when a session starts: env:NAME or file:PATH."),
  hosts: z
    .array(secretHost)
    .min(1, "name at least one host")
    .max(64, "at most 64 hosts")
    .describe("The only hosts that get the value, named one by one."),
  headers: z
    .array(headerName)
    .max(16, "at most 16 fields")
    .default(["authorization"])
    .describe("Header fields of a request in which the placeholder is replaced."),
  query: z
    .boolean()
    .default(false)
    .describe("Whether it is replaced in a URL's query, which servers write to their logs."),
  plaintext: z.boolean().default(false).describe("Whether the value may go over plain HTTP, readable on its way."),
});
export type NetSecret = z.output<typeof netSecret>;

/** Whether `to` sends no value anywhere that `from` does not send it. */
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

/** `API_TOKEN from env:API_TOKEN → api.example.com`; the value is not here and cannot be shown. */
export function showSecret([name, { from, hosts, plaintext }]: [string, NetSecret]): string {
  return `${name} from ${from} → ${hosts.join(" ")}${plaintext ? " (plain HTTP too)" : ""}`;
}
