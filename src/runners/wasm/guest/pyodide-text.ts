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

/** Throws when a text is not the one these replacements were made for: half a replacement would be a hole. */
export function pyodideScripts(engineModule: string, loaderModule: string): PyodideScripts {
  const engine = replaceOnce(
    replaceOnce(withoutModuleSyntax(engineModule), /export default _createPyodideModule;\s*$/, "return _createPyodideModule;"),
    /getHeapMax=\(\)=>4294901760/,
    "getHeapMax=()=>heapMax",
  );
  const loader = replaceOnce(
    withoutModuleSyntax(loaderModule),
    /export\{(\w+) as loadPyodide,\w+ as version\};[\s\S]*$/,
    "return $1;",
  );
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
