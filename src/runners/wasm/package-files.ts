import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import { isBuildOlder } from "../../lib/files/is-build-older.ts";
import { packageRoot } from "../../lib/files/package-root.ts";
import type { CellPython } from "../cell-packages.ts";

const lockSchema = z.object({
  info: z.object({
    python: z.string().regex(/^\d+\.\d+/),
    abi_version: z.string().regex(/^\d+_\d+$/),
    arch: z.literal("wasm32"),
  }),
});

/** The Python of Pyodide, with the tag of wheels that are built for it. */
export async function pyodidePython({ pyodide }: PackageFiles): Promise<CellPython> {
  const text = await readFile(join(pyodide, "pyodide-lock.json"), "utf8");
  const lock = lockSchema.safeParse(JSON.parse(text));
  if (!lock.success) throw new CodecellError("runner_unavailable", "Pyodide does not say which wheels it can load");
  const { python, abi_version: abi, arch } = lock.data.info;
  const [major = 3, minor = 0, micro = 0] = python.split(".").map(Number);
  return { version: [major, minor, micro], platform: `pyodide_${abi}_${arch}` };
}

/** The parts of the runtime, before they are copied into one directory. */
export interface PackageFiles {
  /** compiled JavaScript of guest/ */
  readonly guest: string;
  readonly kernel: string;
  readonly pyodide: string;
  readonly pyodideVersion: string;
}

export type FoundFiles = PackageFiles | { readonly missing: string; readonly hint: string };

const build = "run `npm run build` in the clone, or install codecell again";

/** Finds the files of this package and of Pyodide. Reads no large file. */
export function findPackageFiles(): FoundFiles {
  const root = packageRoot();
  const guest = join(root, "dist", "runners", "wasm", "guest");
  if (!existsSync(join(guest, "main.js"))) {
    return { missing: "the compiled files of this package are missing", hint: build };
  }
  // Tests run from the sources but use the compiled guest. This stops them from testing an outdated one.
  if (import.meta.url.endsWith(".ts") && isBuildOlder(guest, join(root, "src", "runners", "wasm", "guest"))) {
    return { missing: "the compiled files of this package are older than their sources", hint: build };
  }
  const require = createRequire(import.meta.url);
  try {
    const manifest = require.resolve("pyodide/package.json");
    const { version } = require(manifest) as { version: string };
    return {
      guest,
      kernel: join(root, "python", "codecell_kernel"),
      pyodide: dirname(manifest),
      pyodideVersion: version,
    };
  } catch {
    return {
      missing: "the pyodide package is not installed",
      hint: "run `npm ci` in the clone, or install codecell again",
    };
  }
}
