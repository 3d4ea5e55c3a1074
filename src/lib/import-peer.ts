import { createRequire } from "node:module";
import { join } from "node:path";
import { packageRoot } from "./files/package-root.ts";

/** Loads an optional peer that is installed beside this package. `import()` would fail in the bundled command line. */
export async function importPeer<Module>(name: string): Promise<Module> {
  const require = createRequire(join(packageRoot(), "bin", "codecell.js"));
  return await (require("./import-module.cjs") as (name: string) => Promise<Module>)(name);
}
