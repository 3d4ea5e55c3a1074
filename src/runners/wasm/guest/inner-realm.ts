import type { ChangedFiles } from "./changed-files.ts";
import type { ServeFile } from "./served-files.ts";

/**
 * Functions that the empty context calls. They take and return only primitives and byte views. None returns an object of
 * the outer realm, because code could use its constructor to escape into the outer realm.
 */
export interface HostFunctions {
  write(descriptor: number, bytes: Uint8Array): void;
  /** Reads standard input: the number of bytes, 0 at the end, -1 if the caller should look for an interrupt and try again. */
  read(into: Uint8Array): number;
  /** Waits a short time for an answer to a call, and writes the sizes of its header and body. */
  nextAnswer(sizes: Uint8Array): boolean;
  takeAnswer(header: Uint8Array, body: Uint8Array): void;
  send(header: string, body: Uint8Array | undefined): void;
  died(reason: string): void;
  now(): number;
  fillRandom(bytes: Uint8Array): void;
  /** 0 if there are too many */
  setTimer(callback: () => void, ms: number): number;
  clearTimer(id: number): void;
  /** undefined if the bytes are not valid in that encoding */
  decode(bytes: Uint8Array, encoding: string, isFatal: boolean): string | undefined;
  /** returns the number of bytes written */
  encode(text: string, into: Uint8Array): number;
}

/** Bytes are arrays of the inner realm. Structured values are JSON text. */
export interface InnerFiles {
  wasm: Uint8Array;
  stdlib: Uint8Array;
  snapshot: Uint8Array | undefined;
  lockJson: string;
  /** the Python kernel: its files by name */
  kernel: Record<string, Uint8Array>;
  /** files below /deps by name */
  packages: Record<string, Uint8Array>;
  heapMax: number;
  diskBytes: number;
  openFiles: number;
  makesSnapshot: boolean;
}

/** How the outer realm controls the inner one. Failures are text, because error objects must not be inspected. */
export interface InnerRealm {
  /** "" or the error */
  load(): Promise<string>;
  snapshot(): Uint8Array;
  /** Connects the kernel to the host and returns Python's version. */
  attach(): string;
  interruptBuffer(): SharedArrayBuffer;
  dispatch(id: number, header: string, body: Uint8Array | undefined): void;
  /** Answers a request about files. */
  serveFile(header: string, body: Uint8Array | undefined): void;
  cancel(id: number): void;
}

type Factory = (...globals: readonly unknown[]) => unknown;
/** Changes to Emscripten's file system. Each is a function of the inner realm. */
export interface FileTools {
  limit(fs: unknown, limitBytes: number, openFiles: number): void;
  track(fs: unknown): ChangedFiles;
  serve(fs: unknown, changes: ChangedFiles, send: (header: string, body: Uint8Array | undefined) => void): ServeFile;
}

/** The part of Pyodide that is used here. */
interface Pyodide {
  readonly _api: { on_fatal: (error: unknown) => void };
  readonly FS: {
    mkdirTree(path: string): void;
    writeFile(path: string, bytes: Uint8Array, options?: { canOwn: boolean }): void;
    chmod(path: string, mode: number): void;
  };
  runPython(code: string): unknown;
  pyimport(name: string): Record<string, unknown>;
  makeMemorySnapshot(): Uint8Array;
  setInterruptBuffer(buffer: Uint8Array): void;
  setStdin(options: object): void;
  setStdout(options: object): void;
  setStderr(options: object): void;
}

/**
 * Runs INSIDE the empty context: realm.ts evaluates this function's source there, so it uses only its parameters and the
 * context's globals. It saves the intrinsics that it needs before other code can replace them.
 */
export function bootInnerRealm(
  host: HostFunctions,
  engine: Factory,
  loader: Factory,
  fileTools: FileTools,
  input: InnerFiles,
): InnerRealm {
  let files = input;
  const realm = globalThis as unknown as Record<string, unknown>;
  const Bytes = Uint8Array;
  const Numbers = DataView;
  const InnerError = Error;
  const InnerTypeError = TypeError;
  const InnerPromise = Promise;
  const text = String;
  const isView = ArrayBuffer.isView;
  const parse = JSON.parse;
  const kernelRoot = "/usr/lib/codecell";

  // `catch` without a name, so that an error of the outer realm cannot leak its constructor.
  const guarded =
    <A, B, C, R>(call: (a: A, b: B, c: C) => R) =>
    (a: A, b: B, c: C): R => {
      try {
        return call(a, b, c);
      } catch {
        throw new InnerError("host call failed");
      }
    };
  const write = guarded(host.write);
  const read = guarded(host.read);
  const nextAnswer = guarded(host.nextAnswer);
  const takeAnswer = guarded(host.takeAnswer);
  const send = guarded(host.send);
  const died = guarded(host.died);
  const now = guarded(host.now);
  const fillRandom = guarded(host.fillRandom);
  const setTimer = guarded(host.setTimer);
  const clearTimer = guarded(host.clearTimer);
  const decode = guarded(host.decode);
  const encode = guarded(host.encode);

  const bytesOf = (value: unknown): Uint8Array => {
    if (value === undefined) return new Bytes(0);
    if (isView(value)) return new Bytes(value.buffer as ArrayBuffer, value.byteOffset, value.byteLength);
    return new Bytes(value as ArrayBuffer);
  };
  const noImport = () => InnerPromise.reject(new InnerError("import() is not available"));
  const noEval = () => undefined;
  const noFiles = () => {
    throw new InnerError("there are no files");
  };
  const nothing = () => {};

  realm.TextDecoder = class TextDecoder {
    #encoding: string;
    #isFatal: boolean;
    constructor(encoding: unknown = "utf-8", options?: { fatal?: unknown }) {
      this.#encoding = text(encoding).toLowerCase();
      this.#isFatal = !!options?.fatal;
    }
    get encoding() {
      return this.#encoding;
    }
    decode(value?: unknown) {
      const decoded = decode(bytesOf(value), this.#encoding, this.#isFatal);
      if (typeof decoded !== "string") throw new InnerTypeError("The encoded data was not valid");
      return decoded;
    }
  };
  realm.TextEncoder = class TextEncoder {
    get encoding() {
      return "utf-8";
    }
    encode(value: unknown = "") {
      const string = text(value);
      const bytes = new Bytes(string.length * 3);
      return bytes.slice(0, encode(string, bytes, undefined));
    }
    encodeInto(value: unknown, into: unknown) {
      const string = text(value);
      return { read: string.length, written: encode(string, bytesOf(into), undefined) };
    }
  };
  realm.performance = { now: () => now(undefined, undefined, undefined) };
  realm.crypto = {
    getRandomValues(view: unknown) {
      fillRandom(bytesOf(view), undefined, undefined);
      return view;
    },
  };
  realm.setTimeout = (callback: (...values: unknown[]) => void, ms: unknown, ...values: unknown[]) =>
    setTimer(
      () => {
        try {
          callback(...values);
        } catch {}
      },
      Number(ms) || 0,
      undefined,
    );
  realm.clearTimeout = (id: unknown) => clearTimer(Number(id) || 0, undefined, undefined);
  realm.queueMicrotask = (callback: () => void) => void InnerPromise.resolve().then(callback);
  realm.console = { log: nothing, warn: nothing, error: nothing, info: nothing, debug: nothing };
  // Emscripten uses its worker path (random numbers from `crypto`), Pyodide its shell path (files from `readbuffer`).
  realm.WorkerGlobalScope = function WorkerGlobalScope() {};
  realm.read = noFiles;
  realm.load = noFiles;
  realm.readbuffer = (path: unknown) => {
    if (path === "/pyodide.asm.wasm") return files.wasm;
    if (path === "/python_stdlib.zip") return files.stdlib;
    return noFiles();
  };
  // Stops a stack-trace hook, which would get call sites of the outer realm.
  Object.defineProperty(InnerError, "prepareStackTrace", { value: undefined, writable: false, configurable: false });

  let python: Pyodide;
  let dispatchToKernel: (header: string, body: Uint8Array | undefined) => void;
  let cancelRun: (id: number) => void;
  let serveFile: ServeFile;
  let interrupt = new Bytes(0);
  let activeId = 0;

  const reasonOf = (error: unknown): string => {
    try {
      return text((error as { message?: unknown })?.message ?? error).slice(0, 2000);
    } catch {
      return "unknown";
    }
  };

  async function loadPython(): Promise<void> {
    const jsGlobals = Object.create(null) as Record<string, unknown>;
    for (const name of ["Object", "Array", "Promise", "Error", "Map", "Set", "Uint8Array", "JSON", "Math", "Date"]) {
      jsGlobals[name] = realm[name];
    }
    jsGlobals.setTimeout = realm.setTimeout;
    jsGlobals.clearTimeout = realm.clearTimeout;
    const loadPyodide = loader(noImport, noEval) as (options: object) => Promise<Pyodide>;
    python = await loadPyodide({
      indexURL: "/",
      packageBaseUrl: "/",
      createPyodideModule: engine(files.heapMax, noImport, noEval),
      lockFileContents: parse(files.lockJson),
      jsglobals: jsGlobals,
      env: { HOME: "/workspace", PYTHONINSPECT: "", PYTHONDONTWRITEBYTECODE: "1", TZ: "UTC", LANG: "C.UTF-8" },
      stdin: () => null,
      args: [],
      ...(files.snapshot === undefined ? {} : { _loadSnapshot: files.snapshot }),
      ...(files.makesSnapshot ? { _makeSnapshot: true } : {}),
    });
    python._api.on_fatal = (error) => {
      try {
        died(reasonOf(error), undefined, undefined);
      } catch {}
    };
    for (const name of ["read", "load", "readbuffer"]) delete realm[name];
    const output = (descriptor: number) => ({
      isatty: false,
      write: (bytes: Uint8Array) => {
        write(descriptor, bytesOf(bytes), undefined);
        return bytes.length;
      },
    });
    python.setStdin({
      isatty: false,
      read: (bytes: Uint8Array) => {
        const count = read(bytesOf(bytes), undefined, undefined);
        if (count >= 0) return count;
        const error = new InnerError("nothing to read yet") as Error & { code: string };
        error.code = "EINTR"; // Python handles interrupts, then tries again
        throw error;
      },
    });
    python.setStdout(output(1));
    python.setStderr(output(2));
    // A snapshot contains only memory, so files are written after every start for lazy imports.
    for (const name in files.kernel) {
      const path = `${kernelRoot}/codecell_kernel/${name}`;
      python.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
      python.FS.writeFile(path, files.kernel[name] ?? new Bytes(0)); // Emscripten encodes text a character at a time
    }
    for (const directory of ["/workspace", "/tmp", "/deps"]) python.FS.mkdirTree(directory);
    const closed = { __proto__: null } as unknown as Record<string, true>;
    for (const name in files.packages) {
      const path = `/deps/${name}`;
      let directory = path.slice(0, path.lastIndexOf("/"));
      if (closed[directory] !== true) python.FS.mkdirTree(directory);
      python.FS.writeFile(path, files.packages[name] ?? new Bytes(0), { canOwn: true }); // without a second copy
      python.FS.chmod(path, 0o444);
      for (; directory !== ""; directory = directory.slice(0, directory.lastIndexOf("/"))) closed[directory] = true;
    }
    for (const directory in closed) python.FS.chmod(directory, 0o555);
    if (files.snapshot === undefined) {
      python.runPython(`import sys; sys.path.append("${kernelRoot}"); import codecell_kernel.worker.wasm; del sys`);
    }
  }

  return {
    async load() {
      try {
        await loadPython();
        return "";
      } catch (error) {
        return reasonOf(error) || "unknown";
      }
    },
    snapshot: () => python.makeMemorySnapshot(),
    attach() {
      const sendToHost = (header: unknown, body: unknown) => {
        send(text(header), body === undefined || body === null ? undefined : bytesOf(body), undefined);
      };
      const sizes = new Bytes(8);
      // [header as text, body], or undefined if nothing arrived in a short time
      const answer = () => {
        if (nextAnswer(sizes, undefined, undefined) !== true) return undefined;
        const numbers = new Numbers(sizes.buffer as ArrayBuffer);
        const header = new Bytes(numbers.getUint32(0, true));
        const body = new Bytes(numbers.getUint32(4, true));
        takeAnswer(header, body, undefined);
        return [decode(header, "utf-8", false), body];
      };
      const { limit, track, serve } = fileTools;
      limit(python.FS, files.diskBytes, files.openFiles);
      const changes = track(python.FS);
      serveFile = serve(python.FS, changes, sendToHost);
      const kernel = python.pyimport("codecell_kernel.worker.wasm");
      const attach = kernel.attach as (send: unknown, changes: unknown, nextAnswer: unknown) => unknown;
      const version = attach(sendToHost, changes.take, answer);
      dispatchToKernel = kernel.dispatch as typeof dispatchToKernel;
      cancelRun = kernel.cancel as typeof cancelRun;
      files = { ...files, wasm: new Bytes(0), stdlib: new Bytes(0), snapshot: undefined, kernel: {}, packages: {} };
      return text(version);
    },
    interruptBuffer() {
      const buffer = new SharedArrayBuffer(4);
      interrupt = new Bytes(buffer as unknown as ArrayBuffer);
      python.setInterruptBuffer(interrupt);
      return buffer;
    },
    dispatch(id, header, body) {
      activeId = id;
      try {
        dispatchToKernel(header, body);
      } catch (error) {
        try {
          died(reasonOf(error), undefined, undefined);
        } catch {}
      }
    },
    serveFile(header, body) {
      try {
        serveFile(header, body);
      } catch (error) {
        try {
          died(reasonOf(error), undefined, undefined);
        } catch {}
      }
    },
    cancel(id) {
      if (id !== activeId) return;
      try {
        // No code is running: a pending interrupt would stop this call, and not the code that awaits.
        interrupt[0] = 0;
        cancelRun(id);
      } catch {}
    },
  };
}
