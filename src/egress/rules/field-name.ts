/**
 * The name of a field as programs behind a server may read it, in lower case with hyphens. The attack: `X_HTTP_Method_Override` and
 * `Content_Length`. CGI, WSGI and PHP make one variable of every spelling, and what looked at the hyphens has seen nothing.
 */
export function fieldAsRead(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "-");
}
