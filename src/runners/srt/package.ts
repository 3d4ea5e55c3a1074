import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";

const srtPackageName = "@anthropic-ai/sandbox-runtime";
/** The only version that was reviewed. srt is a preview, and what it isolates changes between versions. */
export const srtVersion = "0.0.83";
/** Globally: in a clone of codecell, npm installs nothing for an optional peer. */
export const srtInstallHint = `npm install -g ${srtPackageName}@${srtVersion}`;

export interface SrtPackage {
  readonly directory: string;
  /** the module that the wrap service imports */
  readonly entryUrl: string;
  /** directory of the program that sets the system call filter; the cell must see it */
  readonly filterDirectory: string;
}

export type SrtPackageSearch = SrtPackage | { readonly missing: string; readonly hint: string };

const manifest = z.object({ version: z.string(), main: z.string() });

/** Finds the optional peer dependency, or the package in the given directory. Loads no code of it. */
export async function findSrtPackage(packagePath?: string): Promise<SrtPackageSearch> {
  const directory = packagePath ?? installedDirectory() ?? globalDirectory();
  const text = directory && (await readFile(join(directory, "package.json"), "utf8").catch(() => undefined));
  if (!directory || !text) return { missing: `${srtPackageName} is not installed`, hint: srtInstallHint };
  const { version, main } = manifest.parse(JSON.parse(text));
  if (version !== srtVersion) {
    const missing = `${srtPackageName} is version ${version}, but this runner needs ${srtVersion}`;
    return { missing, hint: srtInstallHint };
  }
  return {
    directory,
    entryUrl: pathToFileURL(join(directory, main)).href,
    filterDirectory: join(directory, "vendor", "seccomp"),
  };
}

/** Where `npm install -g` puts packages, by default. The search for modules does not look there. */
const globalPlaces = [join(dirname(process.execPath), "..", "lib"), "/usr/local/lib", "/usr/lib"];

/** The package as it is installed for all programs of this machine. */
export function globalDirectory(places: readonly string[] = globalPlaces): string | undefined {
  const directories = places.map((place) => join(place, "node_modules", srtPackageName));
  return directories.find((directory) => existsSync(join(directory, "package.json")));
}

function installedDirectory(): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${srtPackageName}/package.json`));
  } catch {
    return undefined;
  }
}
