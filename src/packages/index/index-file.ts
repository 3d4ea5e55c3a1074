/** A file that the page of a package names. Everything in it is what the index says. */
export interface IndexFile {
  readonly name: string;
  readonly url: URL;
  /** lower case */
  readonly sha256: string | undefined;
  readonly requiresPython: string | undefined;
  readonly yanked: boolean;
  readonly uploadedMs: number | undefined;
  /** hash of the METADATA file beside it (PEP 658); without a hash it is not used */
  readonly metadataSha256: string | undefined;
}

/** 64 hex digits in lower case, or undefined. */
export function sha256Of(value: unknown): string | undefined {
  return typeof value === "string" && /^[0-9a-fA-F]{64}$/.test(value) ? value.toLowerCase() : undefined;
}

/** Undefined for what cannot be a file: not an address of the web, or one with credentials. */
export function fileUrl(href: string, page: URL): URL | undefined {
  if (href.length > 4096 || !URL.canParse(href, page.href)) return undefined;
  const url = new URL(href, page);
  const isWeb = url.protocol === "https:" || url.protocol === "http:";
  return isWeb && url.username === "" && url.password === "" ? url : undefined;
}
