/** In a kernel's directory: all of its modules as bytecode, made by `python/codecell_kernel/bundle.py`. */
export const bundleName = "bundle";

/** What makes the bundle; the arguments are where `codecell_kernel` is, and the file to write. */
export const bundleProgram =
  "import sys; sys.path.insert(0, sys.argv[1]); from codecell_kernel.bundle import bundle; " +
  "data = bundle(sys.argv[1] + '/codecell_kernel'); file = open(sys.argv[2], 'wb'); file.write(data); file.close()";

/**
 * Pure: the program that starts one of the kernel's entries. `directory` is a Python expression: where the cell sees the
 * kernel. User code may replace builtins, and what imports the kernel's modules for it must not notice.
 */
export function kernelBootstrap(entry: "container" | "template" | "direct" | "srt", directory = "'/.kernel'"): string {
  return [
    "import sys, builtins, marshal",
    `root = ${directory}`,
    `with open(root + '/${bundleName}', 'rb') as file: data = file.read()`,
    "exec(marshal.loads(data), {'data': data, 'root': root, '__builtins__': dict(vars(builtins))})",
    `from codecell_kernel.entry.${entry} import main`,
    "main()",
  ].join("\n");
}
