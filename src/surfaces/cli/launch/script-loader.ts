import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { Script } from "node:vm";
import type { CompiledCode } from "../../../lib/files/compiled-code.ts";

interface LoadedModule {
  exports: unknown;
}

type ModuleFunction = (
  exports: unknown,
  require: (id: string) => unknown,
  module: LoadedModule,
  filename: string,
  directory: string,
) => void;

/** The bundler puts a hash of the content into the names of chunks, so a name never means another text. */
const namedByContent = /\.[\w-]{8}\.cjs$/;

/**
 * Loads the bundled command line with what V8 compiled in an earlier process: compiling takes longer than running it. Node 20
 * offers this for scripts, but not for modules, so the chunks are CommonJS.
 */
export class ScriptLoader {
  readonly #compiled: CompiledCode | undefined;
  readonly #modules = new Map<string, LoadedModule>();
  readonly #unsaved = new Map<string, Script>();

  /** Without `compiled`, V8 compiles everything again. */
  constructor(compiled: CompiledCode | undefined) {
    this.#compiled = compiled;
  }

  load(file: string): unknown {
    const known = this.#modules.get(file);
    if (known) return known.exports;
    const module: LoadedModule = { exports: {} };
    this.#modules.set(file, module); // before it runs, because chunks can import each other
    const directory = dirname(file);
    const other = createRequire(file);
    const require = (id: string) => (id.startsWith(".") ? this.load(join(directory, id)) : other(id));
    this.#compile(file)(module.exports, require, module, file, directory);
    return module.exports;
  }

  /** Keeps what V8 compiled for the next process, with the functions that this process has used. */
  save(): void {
    if (this.#compiled === undefined || this.#unsaved.size === 0) return;
    const files = [...this.#unsaved].map(([name, script]) => [name, script.createCachedData()] as const);
    this.#compiled.save(new Map(files));
  }

  /**
   * V8 checks its version and flags, and the length of the text. Compiled code contains the path of its script, so two
   * installations with the same text do not share it: stack traces would name the files of the other one.
   */
  #nameOf(file: string): string {
    return `${basename(file)}.${process.version}-${process.arch}-${shortHash(dirname(file))}`;
  }

  #compile(file: string): ModuleFunction {
    const text = readFileSync(file, "utf8");
    const name = this.#nameOf(file);
    const cachedData = namedByContent.test(file) ? this.#compiled?.read(name) : undefined;
    const script = new Script(`(function (exports, require, module, __filename, __dirname) {${text}\n})`, {
      filename: file,
      ...(cachedData ? { cachedData } : {}),
    });
    const isStale = cachedData === undefined || script.cachedDataRejected;
    if (isStale && namedByContent.test(file)) this.#unsaved.set(name, script);
    return script.runInThisContext();
  }
}

/** FNV-1a: no secret depends on it, and loading a cryptographic hash would take longer than computing it. */
export function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, "0");
}
