import { join } from "node:path";
import { CompiledCode, compiledCodeDirectory } from "../../../lib/files/compiled-code.ts";
import { ScriptLoader } from "./script-loader.ts";

interface EntryPoint {
  main(argv: readonly string[]): Promise<number>;
}

/** Starts the bundled command line in `directory`. `codecell mcp` has an entry point of its own, which loads less. */
export function launch(argv: readonly string[], directory: string): Promise<number> {
  const compiled = compiledCodeDirectory();
  const loader = new ScriptLoader(compiled === undefined ? undefined : new CompiledCode(compiled));
  process.once("exit", () => loader.save());
  const entry = argv[0] === "mcp" ? "serve/mcp-entrance.cjs" : "main.cjs";
  return (loader.load(join(directory, "surfaces", "cli", entry)) as EntryPoint).main(argv);
}
