/** The address without a trailing slash; undefined: it is not an http or https URL, or has credentials, a query or a fragment. */
export function webAddress(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && `${url.search}${url.hash}${url.username}` === "";
  return isPlain ? url.href.replace(/\/+$/, "") : undefined;
}
