import { CodecellError } from "../../lib/errors.ts";

/** Checks the address of a service. The result has no slash at its end. */
export function serviceAddress(text: string | URL, { allowInsecure = false }: { allowInsecure?: boolean }): string {
  const url = parsed(text);
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw new CodecellError("usage", `the URL of a service starts with https:// or http://, not ${url.protocol}`);
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new CodecellError("usage", "the URL of a service has no user, password, query or fragment", {
      hint: "pass the token as `token`",
    });
  if (url.protocol === "http:" && !isLoopback(url.hostname) && !allowInsecure) {
    throw new CodecellError("usage", `http://${url.host} would send the token and the code unencrypted`, {
      hint: "use https://, or pass allowInsecure: true if the network between is trusted",
    });
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

function parsed(text: string | URL): URL {
  try {
    return new URL(text);
  } catch {
    const hint = "pass the address of `codecell serve`, such as http://127.0.0.1:7410";
    throw new CodecellError("usage", `${JSON.stringify(String(text).slice(0, 200))} is not a URL`, { hint });
  }
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
