import type { Policy } from "../../policy/schema.ts";
import { maxPages, pageBytes } from "./guest/wasm-memory.ts";

const MiB = 2 ** 20;
/** The minimum that a fresh interpreter needs. */
export const leastMemoryBytes = 64 * MiB;
export const mostMemoryBytes = maxPages * pageBytes;
/** What V8 needs besides heap and files while code runs: compiled code, garbage, buffers in transit. */
const growthOverheadBytes = 128 * MiB;
/** Writable private memory of the whole runtime as the OS counts it, even after interpreters were replaced. */
const dataOverheadBytes = 768 * MiB;

export interface CellLimits {
  /** maximum of the interpreter's heap, written into the WebAssembly binary */
  readonly memoryPages: number;
  /** how much the process may grow after the interpreter has started, before the interpreter is killed */
  readonly growthBytes: number;
  /** RLIMIT_DATA of the whole process */
  readonly dataBytes: number;
  readonly diskBytes: number;
  readonly openFiles: number;
}

/** Pure: the limits for a policy's `proc` section. */
export function cellLimits(proc: Pick<Policy["proc"], "memoryBytes" | "diskBytes" | "files">): CellLimits {
  const memoryBytes = Math.min(proc.memoryBytes, mostMemoryBytes);
  // Files are outside the heap, which never shrinks, so a program may use both up to their limits.
  const usableBytes = memoryBytes + proc.diskBytes;
  return {
    memoryPages: Math.floor(memoryBytes / pageBytes),
    growthBytes: usableBytes + growthOverheadBytes,
    dataBytes: usableBytes + dataOverheadBytes,
    diskBytes: proc.diskBytes,
    openFiles: proc.files,
  };
}
