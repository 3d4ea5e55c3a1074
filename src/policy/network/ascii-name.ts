import { domainToASCII, domainToUnicode } from "node:url";

/**
 * The ASCII form of a host name, in lower case; undefined where programs would not agree on it. The attack: a soft hyphen, a
 * long s, a circled digit or an ideographic full stop makes a name that one program maps to another name and the next one
 * does not. Only letters, marks and digits are converted, and only where punycode gives back what was written.
 */
export function asciiName(name: string): string | undefined {
  const lower = name.toLowerCase();
  if (/^[\x21-\x7e]+$/.test(name)) return lower;
  // before lower case: the Kelvin sign is a letter of its own here and a plain k there
  if (!/^[\p{L}\p{M}\p{Nd}._-]+$/u.test(name) || name.normalize("NFC") !== name) return undefined;
  const ascii = domainToASCII(lower);
  return ascii !== "" && domainToUnicode(ascii) === lower ? ascii : undefined;
}

/** The same name as people read it, where that is another text: two names that look alike are told apart by both forms. */
export function readableName(ascii: string): string | undefined {
  if (!ascii.includes("xn--")) return undefined;
  const readable = domainToUnicode(ascii);
  return readable !== ascii && asciiName(readable) === ascii ? readable : undefined;
}
