/**
 * The name of a header as programs behind a server may read it, in lower case with hyphens. The attack: headers such as
 * `X_HTTP_Method_Override`. CGI, WSGI and PHP map every spelling to one variable, so a check of the hyphenated name misses them.
 */
export function fieldAsRead(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "-");
}
