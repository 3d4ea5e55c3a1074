import { parseJson } from "../../lib/json/parse-json.ts";
import { fileUrl, type IndexFile, sha256Of } from "./index-file.ts";

const limits = { depth: 32, keys: 2_000_000, values: 4_000_000, containers: 1_000_000 };

/** The page of one package in PEP 691's JSON. Undefined: not such a page. Files that make no sense are left out. */
export function parseJsonPage(text: string, page: URL): IndexFile[] | undefined {
  let parsed: unknown;
  try {
    parsed = parseJson(text, limits);
  } catch {
    return undefined;
  }
  const version = member(member(parsed, "meta"), "api-version");
  const files = member(parsed, "files");
  if (typeof version !== "string" || !/^1(?:\.|$)/.test(version) || !Array.isArray(files)) return undefined;
  return files.flatMap((file) => jsonFile(file, page) ?? []);
}

function jsonFile(file: unknown, page: URL): IndexFile | undefined {
  const [name, href] = [member(file, "filename"), member(file, "url")];
  if (typeof name !== "string" || typeof href !== "string") return undefined;
  const url = fileUrl(href, page);
  if (!url) return undefined;
  const requiresPython = member(file, "requires-python");
  const yanked = member(file, "yanked");
  const uploaded = member(file, "upload-time");
  const uploadedMs = typeof uploaded === "string" ? Date.parse(uploaded) : Number.NaN;
  const metadata = member(file, "core-metadata") ?? member(file, "dist-info-metadata");
  return {
    name,
    url,
    sha256: sha256Of(member(member(file, "hashes"), "sha256")),
    requiresPython: typeof requiresPython === "string" ? requiresPython : undefined,
    yanked: yanked === true || (typeof yanked === "string" && yanked !== ""),
    uploadedMs: Number.isNaN(uploadedMs) ? undefined : uploadedMs,
    metadataSha256: sha256Of(member(metadata, "sha256")),
  };
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
