import { CodecellError } from "../../lib/errors.ts";

const prefixBytes = 12;
const maxHeaderBytes = 64 * 1024;
const maxHeaderBytesInAll = 8 * 1024 * 1024;

/** Where an entry of a snapshot is, and the text of its header. The value is never touched. */
export interface SnapshotEntry {
  readonly header: string;
  readonly start: number;
  readonly end: number;
}

/**
 * The first entries of a snapshot. Its bytes come from a cell, so limits are checked before memory is taken. The attack: a
 * snapshot of ten million empty variables stops the host for many seconds.
 */
export function* snapshotEntries(data: Buffer, maxEntries: number): Generator<SnapshotEntry> {
  let headerBytes = 0;
  for (let at = 0, count = 0; at < data.length && count < maxEntries; count++) {
    const start = at;
    if (data.length - at < prefixBytes) throw tornSnapshot();
    const headerLength = data.readUInt32LE(at);
    const bodyLength = data.readBigUInt64LE(at + 4);
    at += prefixBytes;
    if (headerLength > maxHeaderBytes || BigInt(data.length - at) < BigInt(headerLength) + bodyLength)
      throw tornSnapshot();
    headerBytes += headerLength;
    if (headerBytes > maxHeaderBytesInAll) throw tornSnapshot();
    const header = data.toString("utf8", at, at + headerLength);
    at += headerLength + Number(bodyLength);
    yield { header, start, end: at };
  }
}

export function tornSnapshot(): CodecellError {
  return new CodecellError("snapshot_damaged", "the cell sent a snapshot that cannot be read");
}
