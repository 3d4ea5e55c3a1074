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
  const hint = `npm install ${install}`;
  const found = await import(specifier)
    .catch((error: unknown) => ofProgram(specifier, error))
    .catch((cause: unknown) => {
      if (!isMissing(cause)) throw cause;
      throw new CodecellError("usage", `${specifier} cannot be loaded: is it installed?`, { hint, cause });
    });
  const missing = names.filter((name) => typeof found[name] !== "function");
  if (missing.length === 0) return found;
  throw new CodecellError("usage", `${specifier} has no ${missing.join(", ")}: this version is not supported`, {
    hint,
  });
}

/** A codecell that is a link to a clone does not see the packages beside the link, but the program does. */
function ofProgram(specifier: string, error: unknown): Readonly<Record<string, unknown>> {
  let failure = error;
  for (const place of [process.argv[1] ?? "", join(process.cwd(), "program.js")]) {
    if (place === "" || !isMissing(failure)) continue;
    try {
      return createRequire(place)(specifier);
    } catch (next) {
      failure = next;
    }
  }
  throw failure;
}

function isMissing(error: unknown): boolean {
  const { code } = Object(error);
  return ["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND", "ERR_PACKAGE_PATH_NOT_EXPORTED"].includes(code);
}
