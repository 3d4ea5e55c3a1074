/**
 * Pure: an error of the OS with another path in it. The path that a system call got may mean nothing to a reader
 * (`/proc/self/fd/24/…`), or be one that the reader must not learn.
 */
export function aboutPath(error: unknown, shown: string): unknown {
  if (!(error instanceof Error)) return error;
  const { code, errno, syscall, path, dest } = error as NodeJS.ErrnoException & { readonly dest?: string };
  if (typeof path !== "string") return error;
  const renamed = (text: string) => {
    const withoutDest = typeof dest === "string" && dest !== "" ? text.replaceAll(dest, shown) : text;
    return path === "" ? withoutDest : withoutDest.replaceAll(path, shown);
  };
  const copy: Error = new Error(renamed(error.message));
  copy.stack = renamed(error.stack ?? "");
  return Object.assign(copy, { code, errno, syscall, path: shown });
}
