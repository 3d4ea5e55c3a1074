import { z } from "zod";
import { once } from "../../lib/once.ts";
import { asciiName, readableName } from "./ascii-name.ts";
import { hostMistake } from "./host-mistake.ts";

const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const pattern = new RegExp(`^(?:\\*\\.)?(?:${label}\\.){1,32}(?=[a-z0-9-]*[a-z])${label}(?::[1-9][0-9]{0,4})?$`);
/** the same with letters of every script, except capitals */
const letters = "\\p{Ll}\\p{Lo}\\p{Lm}\\p{M}\\p{Nd}";
const part = `[${letters}](?:[${letters}-]{0,61}[${letters}])?`;
const written = new RegExp(`^(?:\\*\\.)?(?:${part}\\.){1,32}${part}(?::[1-9][0-9]{0,4})?$`, "u");

/**
 * A host as the egress rules name it: `packages.example`, `*.example.com` (whole labels, not the name itself), `git.example.com:22`.
 * Lower case, and converted to punycode by the parser, so that each host has one spelling. The last label needs a letter:
 * without one it would be an IP address.
 */
export const hostPattern = once(() =>
  z
    .string("expected a host such as packages.example")
    .max(260, "at most 260 characters")
    .regex(written, { error: ({ input }) => hostMistake(String(input)).message, abort: true })
    .refine((text) => Number(text.split(":")[1] ?? 443) <= 65_535, { message: "a port is at most 65535", abort: true })
    .transform((text, context) => {
      const [name = "", port] = text.replace(/^\*\./, "").split(":");
      const ascii = asciiName(name.normalize("NFC"));
      const entry = `${text.startsWith("*.") ? "*." : ""}${ascii}${port === undefined ? "" : `:${port}`}`;
      if (ascii !== undefined && pattern.test(entry)) return entry;
      const differs = "programs convert this name differently; write it in punycode";
      const message = ascii === undefined ? differs : hostMistake(text).message;
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    }),
);

/** The pattern that was probably meant by a text that is none. */
export function suggestHost(text: string): string | undefined {
  const { meant } = hostMistake(text);
  return meant !== undefined && meant !== text && hostPattern().safeParse(meant).success ? meant : undefined;
}

/** The pattern, with its Unicode form in parentheses if that differs. */
export function showHostPattern(entry: string): string {
  const [name = ""] = entry.replace(/^\*\./, "").split(":");
  const readable = readableName(name);
  return readable === undefined ? entry : `${entry} (${readable})`;
}

/** Whether `wide` covers every host that `narrow` covers. A pattern without a port covers ports 80 and 443. */
export function hostPatternCovers(wide: string, narrow: string): boolean {
  const [wideHost = "", widePort] = wide.split(":");
  const [narrowHost = "", narrowPort] = narrow.split(":");
  const portCovered = widePort === narrowPort || (widePort === undefined && ["80", "443"].includes(narrowPort ?? ""));
  if (!portCovered) return false;
  if (wideHost === narrowHost) return true;
  return wideHost.startsWith("*.") && narrowHost.endsWith(wideHost.slice(1));
}

/** The same for rules that restrict. Without a port they cover every port, so that none is missed. */
export function restrictionCovers(wide: string, narrow: string): boolean {
  const [wideHost = "", widePort] = wide.split(":");
  const [narrowHost = "", narrowPort] = narrow.split(":");
  if (widePort !== undefined && widePort !== narrowPort) return false;
  return wideHost === narrowHost || (wideHost.startsWith("*.") && narrowHost.endsWith(wideHost.slice(1)));
}
