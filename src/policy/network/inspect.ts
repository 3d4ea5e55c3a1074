import { z } from "zod";
import { once } from "../../lib/once.ts";
import { hostPattern, restrictionCovers } from "./host-pattern.ts";

/** What `net.inspect: true` becomes: every host, on every port. */
export const everyHost = "*";

/** Hosts whose TLS the proxy decrypts. */
export const inspectedHosts = once(() =>
  z
    .union([z.boolean(), z.array(hostPattern()).max(256, "at most 256 hosts")], {
      error: "takes true, or hosts in lower case such as [api.example.com, *.example.com]",
    })
    .transform((value): string[] => (Array.isArray(value) ? value : value ? [everyHost] : [])),
);

export function isInspected(inspect: readonly string[], host: string, port: number): boolean {
  return inspect.some((pattern) => inspectCovers(pattern, `${host}:${port}`));
}

/** Whether `wide` covers every host that `narrow` covers. */
export function inspectCovers(wide: string, narrow: string): boolean {
  return wide === everyHost || (narrow !== everyHost && restrictionCovers(wide, narrow));
}
