/**
 * Pure: a name as a part of a path. `encodeURIComponent` throws for half a surrogate pair, which a program can put into a
 * name; such a name is never one that the service knows.
 */
export function pathPart(name: string): string {
  return encodeURIComponent(name.replace(/\p{Cs}/gu, "\ufffd"));
}
