/** In a kernel's directory: all of its modules as bytecode, made by `python/codecell_kernel/bundle.py`. */
export const bundleName = "bundle";

/** What makes the bundle; the arguments are where `codecell_kernel` is, and the file to write. */
export const bundleProgram =
  "import sys; sys.path.insert(0, sys.argv[1]); from codecell_kernel.bundle import bundle; " +
  "open(sys.argv[2], 'wb').write(bundle(sys.argv[1] + '/codecell_kernel'))";

/**
 * Pure: the program that starts one of the kernel's entries. `directory` is a Python expression: where the cell sees the
 * kernel. User code may replace builtins, and what imports the kernel's modules for it must not notice.
 */
export function kernelBootstrap(entry: "container" | "template" | "direct" | "srt", directory = "'/.kernel'"): string {
  return [
    "import sys, builtins, marshal",
    `with open(${directory} + '/${bundleName}', 'rb') as file: data = file.read()`,
    "exec(marshal.loads(data), {'data': data, '__builtins__': dict(vars(builtins))})",
    `from codecell_kernel.${entry} import main`,
    "main()",
  ].join("\n");
}
