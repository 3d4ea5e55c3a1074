import { domainToASCII, domainToUnicode } from "node:url";

/**
 * The ASCII form of a host name, in lower case; undefined where programs convert the name differently. The attack: a name
 * with a soft hyphen, a long s, a circled digit or an ideographic full stop. One program maps it to another name, and the next
 * one does not. Only letters, marks and digits are converted, and only if punycode converts back to the same text.
 */
export function asciiName(name: string): string | undefined {
  const lower = name.toLowerCase();
  if (/^[\x21-\x7e]+$/.test(name)) return lower;
  // Check before lower-casing, which turns the Kelvin sign into a plain k.
  if (!/^[\p{L}\p{M}\p{Nd}._-]+$/u.test(name) || name.normalize("NFC") !== name) return undefined;
  const ascii = domainToASCII(lower);
  return ascii !== "" && domainToUnicode(ascii) === lower ? ascii : undefined;
}

/** The Unicode form of a punycode name, or undefined. Showing both forms tells look-alike names apart. */
export function readableName(ascii: string): string | undefined {
  if (!ascii.includes("xn--")) return undefined;
  const readable = domainToUnicode(ascii);
  return readable !== ascii && asciiName(readable) === ascii ? readable : undefined;
}
