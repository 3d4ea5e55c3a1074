import { type OpenFile, readChunks, readRange } from "../../src/artifacts/regular-file.ts";
import type { WorkspaceFiles } from "../../src/artifacts/workspace-files.ts";

/** A file whose times do not show its changes, as after a write through a memory map. */
export function mappedFile(content: Buffer): WorkspaceFiles {
  const readInto = async (buffer: Uint8Array, at: number) => content.copy(buffer, 0, at, at + buffer.length);
  const file: OpenFile = {
    ...{ size: content.length, modifiedMs: 0, changedMs: 0, identity: "the same", readInto },
    read: (range) => readRange(file, "data", range),
    chunks: (range = {}) => readChunks(file, "data", 1_000, range),
    isUnchanged: async () => true,
    async [Symbol.asyncDispose]() {},
  };
  return { open: async () => file } as unknown as WorkspaceFiles;
}
