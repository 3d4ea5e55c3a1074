import { isIP } from "node:net";

const expected = "expected a host in lower case such as packages.example, *.example.com or git.example.com:22";

/** Why a text is not a host pattern, and the text that was probably meant, which may be wrong too. */
export interface HostMistake {
  readonly message: string;
  readonly meant?: string;
}

/** Pure: messages that start with "expected" are shown with the text itself. */
export function hostMistake(written: string): HostMistake {
  const text = written.slice(0, 300);
  const host = bareHost(text);
  const known = knownMistake(withoutPort(host), text);
  if (known !== undefined) return { message: known };
  const meant = host.startsWith(".") ? `*${host}` : host;
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return { message: "expected a host without scheme and path", meant };
  if (text.includes("/")) return { message: "expected a host without a path", meant };
  if (text !== text.toLowerCase()) return { message: "expected a host in lower case", meant };
  return { message: expected, meant };
}

/** What no other spelling corrects. */
function knownMistake(name: string, text: string): string | undefined {
  if (name === "*")
    return '"*" alone would stand for every host; name each host, or those below a domain as *.example.com';
  if (isAddress(name)) {
    return "an IP address cannot be named; name the host, which is reached only if its addresses are public";
  }
  if (/(?:^|\.)localhost$/.test(name)) {
    return "services of this machine cannot be reached; offer what a program needs as functions of the host";
  }
  if (/^[a-z0-9-]+$/.test(name)) return "expected a name of at least two labels such as packages.example";
  if (name.lastIndexOf("*") > 0) return "expected `*` only as the whole first label, as in *.example.com";
  if (/^\*\.[a-z0-9-]+$/.test(name)) return "expected a domain of at least two labels after `*.`, as in *.example.com";
  const port = /:(\d*)$/.exec(bareHost(text))?.[1];
  return port !== undefined && !/^[1-9]\d{0,4}$/.test(port) ? "expected a port from 1 to 65535" : undefined;
}

/** The part of a URL that names a host, with its port. */
function bareHost(text: string): string {
  const [authority = ""] = text
    .trim()
    .replace(/^[a-z][a-z0-9+.-]*:\/\//i, "")
    .split(/[/?#]/);
  return authority
    .slice(authority.lastIndexOf("@") + 1)
    .toLowerCase()
    .replace(/\.$/, "");
}

function withoutPort(host: string): string {
  return isIP(host) ? host : host.replace(/:\d*$/, "").replace(/\.$/, "");
}

/** Also the short, octal and hexadecimal forms that some programs accept. */
function isAddress(name: string): boolean {
  return isIP(name.replace(/^\[|\]$/g, "")) > 0 || /^(?:0x[0-9a-f]+|\d+)(?:\.(?:0x[0-9a-f]+|\d+)){0,3}$/.test(name);
}
