import { createHash } from "node:crypto";

/** The fields of a line, besides its event. */
export interface LineFacts {
  readonly seq: number;
  /** ISO 8601 in UTC, with milliseconds */
  readonly time: string;
  /** hash of the line before, or of the chain's name for the first one */
  readonly prev: string;
  readonly hash: string;
}

export interface ChainLine extends LineFacts {
  /** the event as JSON */
  readonly event: string;
}

const sealBytes = `,"hash":"${"0".repeat(64)}"}`.length;
/** Canonical: no white space, and one spelling per number. */
const pattern =
  /^\{"v":1,"seq":([1-9]\d{0,14}),"time":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)","prev":"([0-9a-f]{64})","event":(\{.*\})$/s;
const sealPattern = /^,"hash":"([0-9a-f]{64})"\}$/;

/** The `prev` of a chain's first line. It covers the chain's name, so a file of another chain does not fit. */
export function genesisHash(chain: string): string {
  return sha256(`codecell audit 1 ${chain}`);
}

/**
 * One line without its line feed. The hash covers every byte before it as written, so verification needs no canonical form of
 * JSON.
 */
export function sealLine(facts: Omit<LineFacts, "hash">, event: string): { text: string; hash: string } {
  const body = `{"v":1,"seq":${facts.seq},"time":"${facts.time}","prev":"${facts.prev}","event":${event}`;
  const hash = sha256(body);
  return { text: `${body},"hash":"${hash}"}`, hash };
}

/** `claims`: the fields of a well-formed line whose hash does not match. */
export type OpenedLine = ChainLine | { readonly problem: string; readonly claims?: LineFacts };

/** Parses a line and checks its hash. The caller checks `prev`. */
export function openLine(bytes: Uint8Array): OpenedLine {
  const line = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const body = line.subarray(0, Math.max(0, line.length - sealBytes));
  const stated = sealPattern.exec(line.subarray(body.length).toString("latin1"))?.[1];
  const match = pattern.exec(body.toString("utf8"));
  if (stated === undefined || match === null) return { problem: "is not an audit line" };
  const [, seq = "", time = "", prev = "", event = ""] = match;
  const facts: LineFacts = { seq: Number(seq), time, prev, hash: stated };
  if (sha256(body) !== stated) return { problem: "was changed: its hash does not match its content", claims: facts };
  return { ...facts, event };
}

export function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}
