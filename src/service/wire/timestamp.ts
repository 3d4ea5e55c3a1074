import { z } from "zod";

/** ISO 8601 in UTC, as every time on the wire. */
export const timestamp = z.iso.datetime({ precision: 3 });

export function encodeTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** A program can set any time on its files, also one that no calendar has. */
export function encodeFileTime(ms: number): string | null {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? null : date.toISOString().replace(/^[+-]\d{6}.*/, "") || null;
}
