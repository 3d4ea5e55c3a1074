import { createHash } from "node:crypto";
import type { OpenFile } from "../../artifacts/regular-file.ts";
import type { ByteRange, FileSource } from "../../artifacts/workspace-file.ts";
import type { WorkspaceFiles } from "../../artifacts/workspace-files.ts";
import type { Audit } from "../../audit/audit.ts";

/** The same files, with every download and deletion recorded in the audit. Sizes and names are not recorded. */
export function auditedFiles(files: WorkspaceFiles, audit: Audit, session: string): WorkspaceFiles {
  const given = async (path: string, start: number, bytes: number, size: number) => {
    audit.record({ type: "file.downloaded", session, path, start, bytes, size });
    if (audit.isDurable) await audit.settled(session);
  };
  return {
    stat: (path) => files.stat(path),
    write: (path, source, options) => files.write(path, source, options),
    list: (options) => files.list(options),
    async remove(path) {
      await files.remove(path);
      audit.record({ type: "file.deleted", session, path });
      if (audit.isDurable) await audit.settled(session);
    },
    async open(path) {
      const file = await files.open(path);
      return auditedFile(file, (range) => {
        const { start, end } = within(range, file.size);
        return given(path, start, end - start, file.size);
      });
    },
    async read(path, options) {
      const read = await files.read(path, options);
      await given(path, options?.start ?? 0, read.data.byteLength, read.size);
      return read;
    },
    async stream(path, range) {
      const file = await files.stream(path, range);
      const { start, end } = within(range, file.size);
      await orClose(file, given(path, start, end - start, file.size));
      return file;
    },
    [Symbol.asyncDispose]: () => files[Symbol.asyncDispose](),
  };
}

/** `readInto` is not recorded: the host uses it to find a digest or a type, and no content leaves the host. */
function auditedFile(file: OpenFile, given: (range?: ByteRange) => Promise<void>): OpenFile {
  const { size, modifiedMs, changedMs, identity } = file;
  return {
    ...{ size, modifiedMs, changedMs, identity },
    readInto: (buffer, position) => file.readInto(buffer, position),
    async read(range) {
      const data = await file.read(range);
      await given(range);
      return data;
    },
    async *chunks(range) {
      await given(range);
      yield* file.chunks(range);
    },
    isUnchanged: () => file.isUnchanged(),
    [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
  };
}

/** Refuses content that cannot be recorded. */
async function orClose(file: AsyncDisposable, written: Promise<void>): Promise<void> {
  await written.catch(async (error: unknown) => {
    await file[Symbol.asyncDispose]();
    throw error;
  });
}

function within({ start = 0, end = Number.POSITIVE_INFINITY }: ByteRange = {}, size: number) {
  const from = Math.min(start, size);
  return { start: from, end: Math.max(from, Math.min(end, size)) };
}

/** The same source, with the hash of what was read from it. */
export function hashedSource(source: FileSource): { readonly source: FileSource; digest(): string } {
  const hash = createHash("sha256");
  if (source instanceof Uint8Array) return { source, digest: () => hash.update(source).digest("hex") };
  async function* pass(pieces: AsyncIterable<Uint8Array>) {
    for await (const piece of pieces) {
      hash.update(piece);
      yield piece;
    }
  }
  return { source: pass(source), digest: () => hash.digest("hex") };
}
