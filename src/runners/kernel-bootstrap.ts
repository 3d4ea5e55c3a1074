/** File in a kernel's directory with all its modules as bytecode, written by `python/codecell_kernel/bundle.py`. */
export const bundleName = "bundle";

/** The program that writes the bundle. Its arguments are the directory of `codecell_kernel` and the output file. */
export const bundleProgram =
  "import sys; sys.path.insert(0, sys.argv[1]); from codecell_kernel.bundle import bundle; " +
  "data = bundle(sys.argv[1] + '/codecell_kernel'); file = open(sys.argv[2], 'wb'); file.write(data); file.close()";

/**
 * Pure: the program that starts one of the kernel's entries. `directory` is a Python expression for the kernel's directory
 * in the cell. The importer gets its own copy of builtins, so that user code that replaces builtins cannot affect it.
 */
export function kernelBootstrap(
  entry: "container" | "pod" | "template" | "direct" | "srt",
  directory = "'/.kernel'",
): string {
  return [
    "import sys, builtins, marshal",
    `root = ${directory}`,
    `with open(root + '/${bundleName}', 'rb') as file: data = file.read()`,
    "exec(marshal.loads(data), {'data': data, 'root': root, '__builtins__': dict(vars(builtins))})",
    `from codecell_kernel.entry.${entry} import main`,
    "main()",
  ].join("\n");
}
