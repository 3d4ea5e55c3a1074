import { quotedName } from "../../lib/quoted-name.ts";
import { packageError } from "../package-error.ts";
import type { PackageLimits } from "../package-limits.ts";
import type { AddressScope } from "./address-scope.ts";
import { parseHtmlPage } from "./html-page.ts";
import type { IndexAddress } from "./index-address.ts";
import type { IndexFile } from "./index-file.ts";
import type { IndexAnswer, IndexRequests } from "./index-requests.ts";
import { parseJsonPage } from "./json-page.ts";

/** The files of one package in the one index that supplies it. */
export interface PackagePage {
  readonly index: IndexAddress;
  /** how far the index's own address reaches: its files may not lead closer */
  readonly scope: AddressScope;
  readonly files: readonly IndexFile[];
}

const json = "application/vnd.pypi.simple.v1+json";
const html = "application/vnd.pypi.simple.v1+html";
const accept = `${json}, ${html};q=0.2, text/html;q=0.01`;

/**
 * Asks the indexes in their order. The first that knows the name is the only one that supplies it. The attack (dependency
 * confusion): somebody publishes a newer version of an internal package's name in a public index.
 */
export async function findPackagePage(
  name: string,
  options: { indexes: readonly IndexAddress[]; requests: IndexRequests; limits: PackageLimits },
): Promise<PackagePage> {
  const { indexes, requests, limits } = options;
  for (const index of indexes) {
    const url = new URL(`${name}/`, index.url);
    const page = await requests.get(
      { index, url, accept, origins: "own", maxBytes: limits.pageBytes, timeoutMs: limits.pageMs },
      async (answer) => ({ index, scope: answer.scope, files: await readPage(answer) }),
    );
    if (page) return page;
  }
  const asked = indexes.map(({ shown }) => shown).join(", ");
  throw packageError("unknown", `there is no package ${quotedName(name)} in ${asked}`, {
    hint: "check the spelling; a package's name is not always the name that is imported",
  });
}

async function readPage(answer: IndexAnswer): Promise<IndexFile[]> {
  const pieces: Buffer[] = [];
  for await (const piece of answer.body) pieces.push(piece);
  const text = Buffer.concat(pieces).toString("utf8");
  const type = answer.contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  const isHtml = type === html || type === "text/html";
  const files = type === json ? parseJsonPage(text, answer.url) : isHtml ? parseHtmlPage(text, answer.url) : undefined;
  if (files) return files;
  throw packageError("index", `${quotedName(answer.url.href, 200)} is not a page of a package index`, {
    hint: "an index answers with PEP 691 JSON or PEP 503 HTML; its address often ends with /simple",
  });
}
