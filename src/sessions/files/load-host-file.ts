import { type DecodedHostFile, decodeHostFile } from "../../artifacts/decode-host-file.ts";
import { type HostFile, readHostFile } from "../../artifacts/host-file.ts";
import type { HostFileForm } from "../../artifacts/host-file-form.ts";
import type { Policy } from "../../policy/schema.ts";

const maxLoadBytes = 256 * 1024 * 1024;
/** Limit for forms that the host parses: a large file would hold up every other session. */
const maxParsedBytes = 32 * 1024 * 1024;

/** What a file of the host is loaded under. */
export interface LoadOptions {
  readonly policy: Policy;
  /** directory that relative paths start from */
  readonly baseDir: string | undefined;
  /** called with the error if the file may not or cannot be read */
  readonly onDenied: (error: unknown) => void;
}

/** Reads a file of the host for a variable, if `fs.load` allows it. */
export async function loadHostFile(
  path: string,
  form: HostFileForm,
  { policy, baseDir, onDenied }: LoadOptions,
): Promise<HostFile & DecodedHostFile> {
  const maxBytes = form === "text" || form === "bytes" ? maxLoadBytes : maxParsedBytes;
  const file = await readHostFile(path, policy, { maxBytes, baseDir }).catch((error: unknown) => {
    onDenied(error);
    throw error;
  });
  return { ...file, ...decodeHostFile(file.data, form) };
}
