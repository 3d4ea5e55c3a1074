import { readdirSync, readFileSync } from "node:fs";
import vm from "node:vm";
import { trackChanges } from "./changed-files.ts";
import { bootInnerRealm, type FileTools, type HostFunctions, type InnerFiles, type InnerRealm } from "./inner-realm.ts";
import { pyodideScripts } from "./pyodide-text.ts";
import { serveFiles } from "./served-files.ts";
import { limitVirtualFiles } from "./virtual-files.ts";
import { capWasmMemory, pageBytes } from "./wasm-memory.ts";

export interface RealmOptions {
  /** the runtime directory: the only readable tree of this process */
  readonly runtime: string;
  readonly memoryPages: number;
  readonly diskBytes: number;
  readonly openFiles: number;
  readonly usesSnapshot: boolean;
  readonly makesSnapshot: boolean;
}

export interface OpenRealm {
  readonly inner: InnerRealm;
  readonly context: vm.Context;
  /** Copies bytes into an array of the inner realm. An outer array would lead code to outer constructors. */
  toInner(bytes: Uint8Array): Uint8Array;
  /** Compiled code of each script, for the next start. */
  codeCaches(): ReadonlyMap<string, Buffer>;
}

/** Directory with the snapshot and the compiled code of each script. */
const warmDirectory = "warm";
export const snapshotFile = "snapshot.bin";

/** Creates the empty context and evaluates Pyodide's scripts in it. `InnerRealm.load` then loads Pyodide. */
export function openRealm(host: HostFunctions, options: RealmOptions): OpenRealm {
  const { runtime } = options;
  const read = (name: string) => readFileSync(`${runtime}/pyodide/${name}`);
  const texts = pyodideScripts(read("pyodide.asm.mjs").toString(), read("pyodide.mjs").toString());
  const wasm = read("pyodide.asm.wasm");
  capWasmMemory(wasm, options.memoryPages);

  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, {
    name: "cell",
    codeGeneration: { strings: false, wasm: true },
  });
  const scripts = new Map<string, vm.Script>();
  const evaluate = (name: string, source: string): unknown => {
    const cachedData = options.makesSnapshot ? undefined : readIfThere(`${runtime}/${warmDirectory}/${name}.cache`);
    const script = new vm.Script(source, { filename: `${name}.js`, ...(cachedData && { cachedData }) });
    scripts.set(name, script);
    return script.runInContext(context);
  };
  const asText = (code: (...parameters: never[]) => unknown) =>
    `(function(){'use strict';return ${code.toString()}})()`;
  const boot = evaluate("boot", asText(bootInnerRealm)) as typeof bootInnerRealm;
  const fileTools: FileTools = {
    limit: evaluate("limit-files", asText(limitVirtualFiles)) as FileTools["limit"],
    track: evaluate("track-files", asText(trackChanges)) as FileTools["track"],
    serve: evaluate("serve-files", asText(serveFiles)) as FileTools["serve"],
  };
  const engine = evaluate("engine", texts.engine) as () => unknown;
  const loader = evaluate("loader", texts.loader) as () => unknown;

  const InnerBytes = vm.runInContext("Uint8Array", context) as Uint8ArrayConstructor;
  const toInner = (bytes: Uint8Array) => {
    const copy = new InnerBytes(bytes.length);
    copy.set(bytes);
    return copy;
  };
  const files = vm.runInContext("({__proto__:null})", context) as InnerFiles;
  const snapshot = options.usesSnapshot ? readFileSync(`${runtime}/${warmDirectory}/${snapshotFile}`) : undefined;
  Object.assign(files, {
    wasm: toInner(wasm),
    stdlib: toInner(read("python_stdlib.zip")),
    snapshot: snapshot && toInner(snapshot),
    // Removes the packages, because Pyodide would try to download each name in the lock file.
    lockJson: JSON.stringify({ ...JSON.parse(read("pyodide-lock.json").toString()), packages: {} }),
    kernelJson: JSON.stringify(kernelSources(`${runtime}/python/codecell_kernel`)),
    heapMax: options.memoryPages * pageBytes,
    diskBytes: options.diskBytes,
    openFiles: options.openFiles,
    makesSnapshot: options.makesSnapshot,
  } satisfies InnerFiles);
  const inner = boot(host, engine, loader, fileTools, files);
  return {
    inner,
    context,
    toInner,
    codeCaches: () => new Map([...scripts].map(([name, script]) => [name, script.createCachedData()])),
  };
}

function kernelSources(directory: string): Record<string, string> {
  const names = readdirSync(directory, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith(".py"));
  return Object.fromEntries(names.map((name) => [name, readFileSync(`${directory}/${name}`, "utf8")]));
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
