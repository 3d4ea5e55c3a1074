import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, expect, test } from "vitest";
import { capWasmMemory, pageBytes } from "./wasm-memory.ts";

const header = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
/** One memory of 1 page, at most 65536, whose maximum is written in three bytes. */
const small = () => Uint8Array.from([...header, 5, 6, 1, 1, 1, 0x80, 0x80, 0x04]);
/** The same module with the memory exported, as an engine wants it. */
const exported = () => Uint8Array.from([...small(), 7, 5, 1, 1, 0x6d, 2, 0]);

function memoryOf(binary: Uint8Array): WebAssemblyMemory {
  const { Module, Instance } = (globalThis as unknown as { WebAssembly: Engine }).WebAssembly;
  return new Instance(new Module(binary)).exports.m;
}
interface WebAssemblyMemory {
  grow(pages: number): number;
  readonly buffer: ArrayBuffer;
}
interface Engine {
  readonly Module: new (binary: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: { readonly m: WebAssemblyMemory } };
}

describe("capWasmMemory", () => {
  test("stops the memory from growing beyond the maximum", () => {
    const binary = exported();
    capWasmMemory(binary, 3);
    const memory = memoryOf(binary);
    memory.grow(2);
    expect(memory.buffer.byteLength).toBe(3 * pageBytes);
    expect(() => memory.grow(1)).toThrow(RangeError);
  });

  test("changes no other byte", () => {
    const binary = exported();
    capWasmMemory(binary, 200);
    const changed = [...binary].flatMap((byte, at) => (byte === exported()[at] ? [] : [at]));
    expect(changed).toEqual([13, 14, 15]);
    expect([...binary.subarray(13, 16)]).toEqual([0xc8, 0x81, 0x00]);
  });

  test.each([0, 65_537])("rejects a maximum of %d pages", (pages) => {
    expect(() => capWasmMemory(small(), pages)).toThrow("out of range");
  });

  test("rejects a binary without a maximum", () => {
    const unbounded = Uint8Array.from([...header, 5, 3, 1, 0, 1]);
    expect(() => capWasmMemory(unbounded, 10)).toThrow("unexpected memory section");
  });

  test("rejects a binary without a memory section and a truncated binary", () => {
    expect(() => capWasmMemory(Uint8Array.from(header), 10)).toThrow("no memory section");
    expect(() => capWasmMemory(small().subarray(0, 12), 10)).toThrow("ends early");
  });

  test("works on the installed Pyodide", () => {
    const binary = readFileSync(createRequire(import.meta.url).resolve("pyodide/pyodide.asm.wasm"));
    const before = Buffer.from(binary);
    capWasmMemory(binary, 1024);
    const changed = [...binary].filter((byte, at) => byte !== before[at]).length;
    expect(changed).toBeGreaterThan(0);
    expect(changed).toBeLessThanOrEqual(5);
  });
});
