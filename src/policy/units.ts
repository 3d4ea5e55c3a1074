import { z } from "zod";
import { once } from "../lib/once.ts";
import { durationUnits, sizeUnits } from "./format-units.ts";

/** Other spellings of units, in lower case, for suggestions. */
const sizeAliases: Record<string, string> = {
  "": "MiB",
  ...{ b: "B", byte: "B", bytes: "B", k: "KiB", kb: "KB", kib: "KiB", ki: "KiB", m: "MiB", mb: "MB", mib: "MiB" },
  ...{ mi: "MiB", g: "GiB", gb: "GB", gib: "GiB", gi: "GiB" },
};
const durationAliases: Record<string, string> = {
  "": "s",
  ...{ ms: "ms", msec: "ms", millis: "ms", milliseconds: "ms", s: "s", sec: "s", secs: "s", second: "s", seconds: "s" },
  ...{ m: "m", min: "m", mins: "m", minute: "m", minutes: "m", h: "h", hr: "h", hour: "h", hours: "h" },
};

/** A size as people write it (`2GiB`, `512MiB`, `100KB`), in bytes. */
export const size = once(() => unit("size", sizeUnits, "2GiB, 512MiB or 100KB"));
/** A duration as people write it (`30s`, `1.5m`, `250ms`), in milliseconds. */
export const duration = once(() => unit("duration", durationUnits, "30s, 5m or 250ms"));

function unit(what: string, units: Record<string, number>, examples: string) {
  const expected = `expected a ${what} such as ${examples}`;
  const pattern = new RegExp(`^\\d{1,15}(?:\\.\\d{1,6})? ?(?:${Object.keys(units).join("|")})$`);
  return z
    .string(expected)
    .regex(pattern, expected)
    .transform((text, context) => {
      const value = toNumber(text, units);
      if (value !== undefined) return value;
      context.addIssue({ code: "custom", message: expected });
      return z.NEVER;
    });
}

function toNumber(text: string, units: Record<string, number>): number | undefined {
  const match = /^(\d{1,15}(?:\.\d{1,6})?) ?([A-Za-z]+)$/.exec(text);
  const name = match?.[2];
  if (name === undefined || !Object.hasOwn(units, name)) return undefined;
  const value = Math.round(Number(match?.[1]) * (units[name] ?? Number.NaN));
  return Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/** `2gb` → `2GB`, `512` → `512MiB`: the size that was probably meant. */
export function suggestSize(written: unknown): string | undefined {
  return suggest(written, sizeUnits, sizeAliases);
}

/** `30` → `30s`, `5 minutes` → `5m`. */
export function suggestDuration(written: unknown): string | undefined {
  return suggest(written, durationUnits, durationAliases);
}

function suggest(written: unknown, units: Record<string, number>, aliases: Record<string, string>): string | undefined {
  const match = /^\s*(\d{1,15}(?:\.\d{1,6})?)\s{0,3}([A-Za-z]{0,12})\s*$/.exec(String(written).slice(0, 64));
  if (!match || (typeof written !== "string" && typeof written !== "number")) return undefined;
  const name = (match[2] ?? "").toLowerCase();
  if (!Object.hasOwn(aliases, name)) return undefined;
  const suggestion = `${match[1]}${aliases[name]}`;
  return toNumber(suggestion, units) === undefined ? undefined : suggestion;
}
