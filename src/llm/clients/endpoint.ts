import { createHash } from "node:crypto";
import { CodecellError } from "../../lib/errors.ts";

/** Where a client sends its requests, and how it is allowed to. */
export interface Endpoint {
  /** the server for people and cache keys: its host, and a hash of the path and the query, which may have secrets */
  readonly name: string;
  /** The address of a path below the base. */
  at(path: string): string;
  /** what must never be shown */
  readonly secrets: readonly string[];
}

const printable = /^[\x21-\x7e]+$/;

/** A key as it can be sent. The attack: fetch quotes a key with a line feed in its error. */
export function checkedKey(key: string, provider: string): string {
  const trimmed = key.trim();
  if (printable.test(trimmed)) return trimmed;
  throw new CodecellError("model_unavailable", `the key for ${provider} has characters that no key has`, {
    hint: "set it again, without quotes, spaces and line breaks",
  });
}

/** The parts of a base URL. The attack: fetch quotes a URL with a password in its error. */
export function endpoint(provider: string, baseUrl: string, standardUrl: string, key: string | undefined): Endpoint {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!url || !["http:", "https:"].includes(url.protocol))
    throw new CodecellError("usage", `the base URL for ${provider} is not an http or https URL`, {
      hint: `set it to something like ${standardUrl}`,
    });
  if (url.username !== "" || url.password !== "")
    throw new CodecellError("usage", `the base URL for ${provider} has a user name or password in it`, {
      hint: "remove them, and give the key in its own variable",
    });
  const base = url.pathname.replace(/\/+$/, "");
  return {
    name: baseUrl === standardUrl ? provider : `${provider}@${url.host}#${shortHash(`${base}${url.search}`)}`,
    at: (path) => `${url.origin}${base}${path}${url.search}`,
    secrets: [...(key === undefined ? [] : [key]), ...url.searchParams.values(), ...longSegments(base)],
  };
}

/** Some gateways have a token in the path. */
function longSegments(path: string): string[] {
  return path.split("/").filter((segment) => segment.length >= 16);
}

function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}
