import { createRequire } from "node:module";
import { join } from "node:path";
import { CodecellError } from "../../lib/errors.ts";

/** An optional package that an adapter loads when it is used. */
export interface Peer {
  /** what to import */
  readonly specifier: string;
  /** what to install, with the tested versions */
  readonly install: string;
  /** functions and classes that it must have */
  readonly names: readonly string[];
}

/** Loads a package that the user installs beside codecell. */
export async function loadPeer(peer: Peer): Promise<Readonly<Record<string, unknown>>> {
  const { specifier, install, names } = peer;
  const found = await import(specifier).catch((cause: unknown) => ofProgram(specifier, cause));
  if (found === undefined) {
    throw new CodecellError("usage", `the package of ${specifier} is not installed`, {
      hint: `npm install ${install}`,
    });
  }
  const missing = names.filter((name) => typeof found[name] !== "function");
  if (missing.length === 0) return found;
  throw new CodecellError("usage", `${specifier} has no ${missing.join(", ")}: this version is not supported`, {
    hint: `npm install ${install}`,
  });
}

/** A codecell that is a link to a clone does not see the packages beside the link, but the program does. */
function ofProgram(specifier: string, cause: unknown): Readonly<Record<string, unknown>> | undefined {
  const { code } = Object(cause);
  if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") throw cause;
  for (const place of [process.argv[1] ?? "", join(process.cwd(), "program.js")]) {
    if (place === "") continue;
    try {
      return createRequire(place)(specifier);
    } catch (error) {
      const { code } = Object(error);
      if (code !== "MODULE_NOT_FOUND" && code !== "ERR_PACKAGE_PATH_NOT_EXPORTED") throw error;
    }
  }
  return undefined;
}
