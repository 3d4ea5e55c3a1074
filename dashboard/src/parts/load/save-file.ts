/** Offers bytes that the page has as a download. */
export function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  follow(url, fileName(name));
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // the browser reads it after the click
}

/** Downloads from a signed link of this service. Its path is used on the page's own origin, whatever the public URL is. */
export function saveLink(url: string, name: string): void {
  const { pathname } = new URL(url, location.origin);
  if (!pathname.startsWith("/v1/download/")) throw new Error("this is not a link to a file of the service");
  follow(pathname, fileName(name));
}

/** Pure: the last part of a path, without what no file system takes or what hides an extension. */
export function fileName(path: string): string {
  const last = path.split(/[/\\]/).pop() ?? "";
  const safe = last.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}<>:"|?*]/gu, "_").replace(/^\.+|\.+$/g, "_");
  return safe.slice(-200) || "file";
}

function follow(href: string, name: string): void {
  const link = document.createElement("a");
  link.href = href;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}
