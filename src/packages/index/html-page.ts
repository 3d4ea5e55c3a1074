import { fileUrl, type IndexFile, sha256Of } from "./index-file.ts";

const attribute = /([^\s"'>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?/g;
const longestTag = 16_384;
const named: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** The page of one package in PEP 503's HTML: its links, and nothing else of it. */
export function parseHtmlPage(text: string, page: URL): IndexFile[] {
  const files: IndexFile[] = [];
  const anchor = /<a[\s]/gi;
  for (let match = anchor.exec(text); match; match = anchor.exec(text)) {
    const end = endOfTag(text, anchor.lastIndex);
    if (end === undefined) break;
    const file = htmlFile(attributesOf(text.slice(anchor.lastIndex, end)), page);
    if (file) files.push(file);
    anchor.lastIndex = end;
  }
  return files;
}

/** A `>` may stand in a quoted value. */
function endOfTag(text: string, start: number): number | undefined {
  const limit = Math.min(text.length, start + longestTag);
  let quote = "";
  for (let at = start; at < limit; at++) {
    const character = text.charAt(at);
    if (quote !== "") quote = character === quote ? "" : quote;
    else if (character === '"' || character === "'") quote = character;
    else if (character === ">") return at;
  }
  return undefined;
}

function attributesOf(tag: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, name = "", double, single, bare] of tag.matchAll(attribute)) {
    const key = name.toLowerCase();
    // as browsers do: the first of two counts
    if (!found.has(key)) found.set(key, unescaped(double ?? single ?? bare ?? ""));
  }
  return found;
}

function unescaped(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));/gi, (all, decimal, hex, name) => {
    if (name !== undefined) return named[String(name).toLowerCase()] ?? all;
    const point = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return point <= 0x10ffff ? String.fromCodePoint(point) : all;
  });
}

function htmlFile(attributes: ReadonlyMap<string, string>, page: URL): IndexFile | undefined {
  const href = attributes.get("href");
  const url = href === undefined ? undefined : fileUrl(href, page);
  if (!url) return undefined;
  const hash = /^#sha256=(.*)$/.exec(url.hash)?.[1];
  url.hash = "";
  const metadata = attributes.get("data-core-metadata") ?? attributes.get("data-dist-info-metadata");
  return {
    name: decoded(url.pathname.slice(url.pathname.lastIndexOf("/") + 1)),
    url,
    sha256: sha256Of(hash),
    requiresPython: attributes.get("data-requires-python"),
    yanked: attributes.has("data-yanked"),
    uploadedMs: undefined, // PEP 503 has no upload time
    metadataSha256: sha256Of(metadata?.startsWith("sha256=") ? metadata.slice("sha256=".length) : undefined),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
