import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { z } from "zod";

const srtPackageName = "@anthropic-ai/sandbox-runtime";
/** The only version that was reviewed. srt is a preview, and what it isolates changes between versions. */
export const srtVersion = "0.0.83";
export const srtInstallHint = installHint(fileURLToPath(import.meta.url));

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
  const directory = packagePath ?? installedDirectory();
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

/**
 * Pure: the command that installs the package where codecell finds it. In a checkout, npm takes the name for the optional peer of
 * package.json and installs nothing, unless the command says that it is another kind of dependency.
 */
export function installHint(ownFile: string): string {
  const name = `${srtPackageName}@${srtVersion}`;
  const [, before] = /^(.*)\/node_modules\//.exec(ownFile) ?? [];
  if (before === undefined) {
    const root = ownFile.replace(/\/(?:src|dist)\/.*$/, "");
    return `npm install --prefix ${root} --no-save --save-dev ${name}`;
  }
  return /\/lib$/.test(before) ? `npm install -g ${name}` : `npm install ${name}`;
}

function installedDirectory(): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${srtPackageName}/package.json`));
  } catch {
    return undefined;
  }
}
