/**
 * Pyodide's two modules as classic scripts for the empty context. Each is one function expression whose parameters are
 * the few names it may use; V8's code cache checks only the text's length, so no policy value may stand in the text.
 */
export interface PyodideScripts {
  /** `(heapMax, noImport, noEval) => createPyodideModule` */
  readonly engine: string;
  /** `(noImport, noEval) => loadPyodide` */
  readonly loader: string;
}

const dynamicImport = /(?<![\w$.])import\(/g;
const directEval = /(?<![\w$.])eval\(/g;

/** What else is changed in the engine, each exactly once. */
const engineChanges: readonly (readonly [RegExp, string])[] = [
  [/export default _createPyodideModule;\s*$/, "return _createPyodideModule;"],
  [/getHeapMax=\(\)=>4294901760/, "getHeapMax=()=>heapMax"],
  // Read and cleared in two steps, an interrupt that comes in between is lost.
  [
    /let result=Module\.Py_EmscriptenSignalBuffer\[0\];Module\.Py_EmscriptenSignalBuffer\[0\]=0;return result/,
    "return Atomics.exchange(Module.Py_EmscriptenSignalBuffer,0,0)",
  ],
  // The result says that the interpreter died; a dump of its stack would be printed as if the program had.
  [/(?<=try\{)\w+\|\|_dump_traceback\(\);/, ""],
];
const loaderChange = [/export\{(\w+) as loadPyodide,\w+ as version\};[\s\S]*$/, "return $1;"] as const;

/** Throws when a text is not the one these replacements were made for: half a replacement would be a hole. */
export function pyodideScripts(engineModule: string, loaderModule: string): PyodideScripts {
  let engine = withoutModuleSyntax(engineModule);
  for (const [pattern, replacement] of engineChanges) engine = replaceOnce(engine, pattern, replacement);
  const loader = replaceOnce(withoutModuleSyntax(loaderModule), ...loaderChange);
  for (const text of [engine, loader]) {
    // The parser would refuse these in a classic script anyway; `import(` is the one that hands out an outer error.
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
