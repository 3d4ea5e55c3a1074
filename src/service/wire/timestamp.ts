import { z } from "zod";

/** ISO 8601 in UTC, for every time in the wire format. */
export const timestamp = z.iso.datetime({ precision: 3 });

export function encodeTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Null for times that have no ISO 8601 form: a program can set any number as the time of its files. */
export function encodeFileTime(ms: number): string | null {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? null : date.toISOString().replace(/^[+-]\d{6}.*/, "") || null;
}
