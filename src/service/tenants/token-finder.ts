import { timingSafeEqual } from "node:crypto";
import { digestOf, isExpired, type TokenRecord } from "./token-record.ts";

/** Finds tokens by their text. Compares every record in constant time, so that timing reveals nothing. */
export class TokenFinder {
  #of: readonly TokenRecord[] | undefined;
  #digests: readonly { readonly record: TokenRecord; readonly sha256: Uint8Array }[] = [];

  find(records: readonly TokenRecord[], header: string | undefined, nowMs: number): TokenRecord | undefined {
    const given = digestOf(/^Bearer +(\S+)$/i.exec(header ?? "")?.[1] ?? "");
    let found: TokenRecord | undefined;
    for (const { record, sha256 } of this.#digestsOf(records)) {
      if (timingSafeEqual(sha256, given)) found = record;
    }
    return found && !isExpired(found, nowMs) ? found : undefined;
  }

  /** The digests as bytes, computed once per version of the tokens. */
  #digestsOf(records: readonly TokenRecord[]) {
    if (this.#of !== records) {
      this.#of = records;
      this.#digests = records.map((one) => ({ record: one, sha256: Buffer.from(one.sha256, "hex") }));
    }
    return this.#digests;
  }
}
