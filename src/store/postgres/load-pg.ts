import { createRequire } from "node:module";
import { CodecellError } from "../../lib/errors.ts";

/**
 * The client of PostgreSQL. It is an optional peer: most people keep their sessions in files. It is a CommonJS package, and the
 * bundled command line is a script that cannot `import()`.
 */
export function loadPg(): Pick<typeof import("pg"), "Client" | "Pool"> {
  try {
    return createRequire(import.meta.url)("pg");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND") throw cause;
    throw new CodecellError("usage", "the client of PostgreSQL is not installed", {
      hint: "install it beside codecell: `npm install pg@8`, with -g if codecell is installed with -g",
      cause,
    });
  }
}
