const names = new Set("".split(" "));

/** Whether a module's top-level package is part of the runtime: its standard library, no packages. */
export function isInPythonRuntime(module: string): boolean {
  return names.has(module.split(".")[0] ?? "");
}
