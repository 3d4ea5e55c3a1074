import { CodecellError } from "../lib/errors.ts";
import { aboutPath } from "../lib/files/about-path.ts";
import { printable } from "../policy/file/problem.ts";

/** An error about a file without host paths, which the OS's own messages contain. */
function fileError(thrown: unknown, name: string): CodecellError {
  if (thrown instanceof CodecellError) return thrown;
  const code = (thrown as NodeJS.ErrnoException).code ?? "";
  const shown = printable(name, 200);
  const error = aboutPath(thrown, shown);
  const refused = (why: string, hint?: string) => {
    return new CodecellError("file_refused", `${shown} ${why}`, { cause: error, ...(hint ? { hint } : {}) });
  };
  switch (code) {
    case "ENOENT":
      return new CodecellError("file_missing", `${shown} does not exist`, { cause: error });
    case "ELOOP":
      return refused("is a link, and links are not followed", "name the file that it points to");
    case "ENOTDIR":
      return refused("has a parent that is not a directory; links are not followed", "use the real path of the file");
    case "EISDIR":
    case "ENOTEMPTY":
      return refused("is a directory", "name a file in it");
    case "ENXIO":
    case "ENODEV":
      return refused("is not a regular file", "name a regular file");
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return refused("cannot be accessed: permission denied", "change its permissions, or use another file");
    case "EAGAIN":
    case "EBUSY":
    case "ETXTBSY":
      return refused("is in use by another program", "try again when it is done");
    case "ENAMETOOLONG":
      return refused("has a name that is too long", "use a shorter name");
    case "ENOSPC":
    case "EDQUOT":
    case "EFBIG":
      return new CodecellError("too_large", `there is no space left for ${shown}`, {
        cause: error,
        hint: "free some space, or send less data",
        details: { reason: "disk_full" },
      });
    default:
      return new CodecellError("internal", `${shown} cannot be accessed (${code || "unknown error"})`, {
        cause: error,
      });
  }
}

/** Runs a file access; anything it throws becomes a `CodecellError` about that name. */
export async function accessing<T>(name: string, access: () => Promise<T>): Promise<T> {
  try {
    return await access();
  } catch (error) {
    throw fileError(error, name);
  }
}
