import { closeSync, fstatSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
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
  /** directory of packages for /deps; the only other readable tree */
  readonly packages?: string | undefined;
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
const kernelDirectory = "python/codecell_kernel";
export const snapshotFile = "snapshot.bin";

/** Creates the empty context and evaluates Pyodide's scripts in it. `InnerRealm.load` then loads Pyodide. */
export function openRealm(host: HostFunctions, options: RealmOptions): OpenRealm {
  const { runtime } = options;
  const readText = (name: string) => readFileSync(`${runtime}/pyodide/${name}`, "utf8");
  const texts = pyodideScripts(readText("pyodide.asm.mjs"), readText("pyodide.mjs"));

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
  // Reads into an inner array at once: a copy of the snapshot would take as long as reading it.
  const readInner = (path: string) => readWhole(`${runtime}/${path}`, (size) => new InnerBytes(size));
  const readPackage = (path: string) => readWhole(path, (size) => new InnerBytes(size));
  const emptyRecord = () => vm.runInContext("({__proto__:null})", context) as object;
  const wasm = readInner("pyodide/pyodide.asm.wasm");
  capWasmMemory(wasm, options.memoryPages);
  const kernel = emptyRecord() as Record<string, Uint8Array>;
  for (const name of kernelFiles(`${runtime}/${kernelDirectory}`))
    kernel[name] = readInner(`${kernelDirectory}/${name}`);
  const packages = emptyRecord() as Record<string, Uint8Array>;
  if (options.packages !== undefined)
    for (const name of packageFiles(options.packages)) packages[name] = readPackage(`${options.packages}/${name}`);
  const files = emptyRecord() as InnerFiles;
  Object.assign(files, {
    wasm,
    kernel,
    packages,
    stdlib: readInner("pyodide/python_stdlib.zip"),
    snapshot: options.usesSnapshot ? readInner(`${warmDirectory}/${snapshotFile}`) : undefined,
    // Removes the packages, because Pyodide would try to download each name in the lock file.
    lockJson: JSON.stringify({ ...JSON.parse(readText("pyodide-lock.json")), packages: {} }),
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

function kernelFiles(directory: string): string[] {
  const names = readdirSync(directory, { recursive: true }).map(String);
  return names.filter((name) => name.endsWith(".py"));
}

/** Regular files of the packages. The set has no links: it was unpacked from wheels, which have none. */
function packageFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(directory.length + 1));
}

function readWhole(path: string, allocate: (size: number) => Uint8Array): Uint8Array {
  const descriptor = openSync(path, "r");
  try {
    const bytes = allocate(fstatSync(descriptor).size);
    let at = 0;
    while (at < bytes.length) {
      const count = readSync(descriptor, bytes, at, bytes.length - at, at);
      if (count === 0) throw new Error(`${path} is shorter than its size`);
      at += count;
    }
    return bytes;
  } finally {
    closeSync(descriptor);
  }
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
