import { CodecellError } from "../../lib/errors.ts";
import { quotedName } from "../../lib/quoted-name.ts";

/** An index, with its credentials apart: an address that is printed or stored has none. */
export interface IndexAddress {
  /** ends with a slash */
  readonly url: URL;
  /** for people, and for records */
  readonly shown: string;
  /** the value of the Authorization header; only ever sent to this origin */
  readonly authorization: string | undefined;
}

/** `from` says who named it. Whoever is between us and a plain http address could replace packages and their hashes. */
export function parseIndexAddress(text: string, from: string): IndexAddress {
  const wrong = (why: string) =>
    new CodecellError("usage", `the address of a package index (${from}) cannot be used: ${why}`, {
      hint: "give it as https://packages.example/simple",
    });
  // The address is not quoted, and the cause is not kept: either could show a password.
  if (!URL.canParse(text)) throw wrong("it is not an address");
  const url = new URL(text);
  const authorization =
    url.username === "" && url.password === ""
      ? undefined
      : `Basic ${Buffer.from(`${decoded(url.username)}:${decoded(url.password)}`).toString("base64")}`;
  url.username = "";
  url.password = "";
  url.search = "";
  url.hash = "";
  if (!isSafeScheme(url))
    throw wrong(`${quotedName(url.href, 200)} is not https, which only this machine may leave out`);
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return { url, shown: url.href, authorization };
}

/** https, or http on loopback. */
export function isSafeScheme({ protocol, hostname }: URL): boolean {
  if (protocol === "https:") return true;
  return protocol === "http:" && isLoopback(hostname);
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
