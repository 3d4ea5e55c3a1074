import { CodecellError } from "../lib/errors.ts";

/** How to get a module that a cell's Python lacks, as the runner of the cell knows it. */
export type ModuleHint = (module: string) => string;

/** What `import_modules` in the kernel says. No user code has run by then, so nobody can forge it. */
const told = /kernel\.preload: ([\w.]{1,200}) cannot be imported: (.{0,300})/;

/** Pure: the error for a module of `kernel.preload` that is missing, if that is why the kernel did not start. */
export function preloadFailure(text: string, hint: ModuleHint): CodecellError | undefined {
  const [message, module] = told.exec(text) ?? [];
  if (message === undefined || module === undefined) return undefined;
  return new CodecellError("cell_start_failed", message, {
    hint: hint(module),
    details: { rule: "kernel.preload", module },
  });
}
