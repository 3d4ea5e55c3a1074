import { CodecellError } from "../../lib/errors.ts";
import { quotedName } from "../../lib/quoted-name.ts";
import type { PackageRequest } from "../package-request.ts";
import { parseRequirement, type Requirement } from "./requirement.ts";
import { isPinned } from "./version-range.ts";

/** A request whose requirement was read. */
export interface ParsedRequest {
  readonly requirement: Requirement;
  /** without hashes */
  readonly text: string;
  readonly from: string;
  /** sha256 in lower case; empty: the index's hash decides */
  readonly hashes: ReadonlySet<string>;
}

const hashOption = /\s--hash[=\s]\s*(\S+)/g;

/** With `needsHashes`, every request must be pinned to one version and carry a hash. */
export function parseRequests(requests: readonly PackageRequest[], needsHashes: boolean): ParsedRequest[] {
  return requests.map((request) => {
    const parsed = parseRequest(request);
    if (needsHashes && (parsed.hashes.size === 0 || !isPinned(parsed.requirement.range)))
      throw new CodecellError(
        "usage",
        `${quotedName(parsed.text)} (${parsed.from}) is not pinned with a hash, and kernel.packages.hashes requires that`,
        { hint: "write it as name==version --hash=sha256:…; pip-compile --generate-hashes writes such a file" },
      );
    return parsed;
  });
}

function parseRequest({ requirement, from, hashes = [] }: PackageRequest): ParsedRequest {
  const inText = [...requirement.matchAll(hashOption)].map(([, hash = ""]) => hash);
  const text = requirement.replace(hashOption, "").trim();
  return { requirement: parseRequirement(text, from), text, from, hashes: parseHashes([...hashes, ...inText], from) };
}

function parseHashes(hashes: readonly string[], from: string): Set<string> {
  return new Set(
    hashes.map((hash) => {
      const digest = /^sha256:([0-9a-fA-F]{64})$/.exec(hash)?.[1];
      if (digest !== undefined) return digest.toLowerCase();
      throw new CodecellError("usage", `${quotedName(hash)} (${from}) is not a hash that can be checked`, {
        hint: "write it as --hash=sha256: with 64 hexadecimal digits",
      });
    }),
  );
}
