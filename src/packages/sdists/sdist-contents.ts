import type { PackageLimits } from "../package-limits.ts";
import { mostMetadataBytes } from "../wheels/wheel-metadata.ts";
import { refusedSdist } from "./sdist-error.ts";
import { readTarFiles, TarError } from "./tar-reader.ts";

/** The two files of a source distribution that the host looks at. */
export interface SdistContents {
  readonly pkgInfo: string | undefined;
  readonly pyproject: string | undefined;
}

const wanted = /^(?:\.\/)?([^/]+)\/(PKG-INFO|pyproject\.toml)$/;

/** Reads them without unpacking anything. */
export async function readSdist(
  path: string,
  label: string,
  { limits, signal }: { readonly limits: PackageLimits; readonly signal?: AbortSignal | undefined },
): Promise<SdistContents> {
  const bounds = { entries: limits.files, bytes: limits.sdistUnpackedBytes, fileBytes: mostMetadataBytes };
  try {
    const files = await readTarFiles(path, (name) => wanted.test(name), bounds, signal);
    const found = new Map<string, string>();
    const tops = new Set<string>();
    for (const [name, content] of files) {
      const [, top = "", file = ""] = wanted.exec(name) ?? [];
      tops.add(top);
      found.set(file, content.toString("utf8"));
    }
    if (tops.size > 1) throw new TarError("it has more than one directory at the top");
    return { pkgInfo: found.get("PKG-INFO"), pyproject: found.get("pyproject.toml") };
  } catch (error) {
    throw error instanceof TarError ? refusedSdist(label, error.message) : error;
  }
}
