/**
 * Pyodide's two modules as classic scripts for the empty context. Each is a function expression whose parameters are the
 * only outer names it can use. V8's code cache compares only the length of the text, so the text must not contain policy
 * values.
 */
export interface PyodideScripts {
  /** `(heapMax, noImport, noEval) => createPyodideModule` */
  readonly engine: string;
  /** `(noImport, noEval) => loadPyodide` */
  readonly loader: string;
}

const dynamicImport = /(?<![\w$.])import\(/g;
const directEval = /(?<![\w$.])eval\(/g;

/** Other changes to the engine. Each must match exactly once. */
const engineChanges: readonly (readonly [RegExp, string])[] = [
  [/export default _createPyodideModule;\s*$/, "return _createPyodideModule;"],
  [/getHeapMax=\(\)=>4294901760/, "getHeapMax=()=>heapMax"],
  // Reads and clears the interrupt in one step. In two steps, an interrupt in between would be lost.
  [
    /let result=Module\.Py_EmscriptenSignalBuffer\[0\];Module\.Py_EmscriptenSignalBuffer\[0\]=0;return result/,
    "return Atomics.exchange(Module.Py_EmscriptenSignalBuffer,0,0)",
  ],
  // Prints no stack dump, which would look like output of the program. The result says that the interpreter crashed.
  [/(?<=try\{)\w+\|\|_dump_traceback\(\);/, ""],
];
const loaderChange = [/export\{(\w+) as loadPyodide,\w+ as version\};[\s\S]*$/, "return $1;"] as const;

/** Throws if a replacement does not match, because an incomplete replacement would be a way out of the sandbox. */
export function pyodideScripts(engineModule: string, loaderModule: string): PyodideScripts {
  let engine = withoutModuleSyntax(engineModule);
  for (const [pattern, replacement] of engineChanges) engine = replaceOnce(engine, pattern, replacement);
  const loader = replaceOnce(withoutModuleSyntax(loaderModule), ...loaderChange);
  for (const text of [engine, loader]) {
    // A classic script does not parse most of these. `import(` would parse, and return an error of the outer realm.
    if (/(?<![\w$.])(?:import|export)\s*[({*.]/.test(text)) throw new Error("pyodide's text has unknown module syntax");
  }
  return {
    engine: `(function(heapMax,noImport,noEval){'use strict';${engine}\n})`,
    loader: `(function(noImport,noEval){'use strict';${loader}\n})`,
  };
}

function withoutModuleSyntax(text: string): string {
  return text
    .replace(/import\.meta\.url/g, '"/pyodide.asm.mjs"')
    .replace(dynamicImport, "noImport(")
    .replace(directEval, "noEval(");
}

function replaceOnce(text: string, pattern: RegExp, replacement: string): string {
  if (!pattern.test(text)) throw new Error(`pyodide's text has changed: nothing matches ${pattern.source}`);
  return text.replace(pattern, replacement);
}
