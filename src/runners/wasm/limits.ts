import type { Policy } from "../../policy/schema.ts";
import { maxPages, pageBytes } from "./guest/wasm-memory.ts";

const MiB = 2 ** 20;
/** What a fresh interpreter needs; below it nothing would run. */
export const leastMemoryBytes = 64 * MiB;
export const mostMemoryBytes = maxPages * pageBytes;
/** What V8 may take beside heap and files while code runs: compiled code, garbage, buffers on their way. */
const growthOverheadBytes = 128 * MiB;
/** The whole runtime in the OS's count of writable private memory, also after interpreters were replaced. */
const dataOverheadBytes = 768 * MiB;

export interface CellLimits {
  /** ceiling of the interpreter's heap, written into the WebAssembly binary */
  readonly memoryPages: number;
  /** growth of the process beyond its size with a fresh interpreter, above which the interpreter is ended */
  readonly growthBytes: number;
  /** RLIMIT_DATA of the whole process */
  readonly dataBytes: number;
  readonly diskBytes: number;
  readonly openFiles: number;
}

/** Pure: the numbers that a policy's `proc` section becomes. */
export function cellLimits(proc: Pick<Policy["proc"], "memoryBytes" | "diskBytes" | "files">): CellLimits {
  const memoryBytes = Math.min(proc.memoryBytes, mostMemoryBytes);
  // Files lie beside the heap, which never shrinks: a program may have used both to their limits.
  const usableBytes = memoryBytes + proc.diskBytes;
  return {
    memoryPages: Math.floor(memoryBytes / pageBytes),
    growthBytes: usableBytes + growthOverheadBytes,
    dataBytes: usableBytes + dataOverheadBytes,
    diskBytes: proc.diskBytes,
    openFiles: proc.files,
  };
}
