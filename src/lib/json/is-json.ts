import { isUtf8 } from "node:buffer";
import { loopTurns } from "../waiting/loop-turns.ts";
import { JsonChecker } from "./json-checker.ts";

/** Checked in one go: less than a millisecond. */
const partBytes = 128 * 1024;

/**
 * Whether bytes are one JSON value in UTF-8, nested at most `maxDepth` levels deep. Others get their turn while a long text is
 * checked. The attack: parsing 16 MiB of nested arrays takes seconds and hundreds of megabytes.
 */
export async function isJson(bytes: Uint8Array, { maxDepth }: { readonly maxDepth: number }): Promise<boolean> {
  if (!isUtf8(bytes)) return false;
  const checker = new JsonChecker(maxDepth);
  for (let at = 0; at < bytes.byteLength; at += partBytes) {
    if (at > 0) await loopTurns.next();
    if (!checker.push(bytes.subarray(at, at + partBytes))) return false;
  }
  return checker.isComplete;
}
