import { encodeRunEvent } from "../../../service/wire/runs/run-event.ts";
import type { RunEvent } from "../../../sessions/runs/run.ts";

/** Of text in characters, and of a display in bytes: a multiple of three, so that its base64 has no padding in the middle. */
const pieceLength = 48 * 1024;

/**
 * The JSON of an event, in pieces that are made one by one. The attack: each of many clients asks for the events of a run that
 * displays 64 MiB, and reads nothing. In one piece, each of them would have the whole event in memory as base64.
 */
export function* runEventPieces(event: RunEvent, offset: number): Generator<string> {
  const { length } = event.type === "display" ? event.data : event.text;
  if (length <= pieceLength) {
    yield JSON.stringify(encodeRunEvent(event, offset));
    return;
  }
  if (event.type === "display") {
    const around = { ...encodeRunEvent({ ...event, data: nothing }, offset), size: length };
    yield openString(around);
    for (let at = 0; at < length; at += pieceLength)
      yield Buffer.from(event.data.subarray(at, at + pieceLength)).toString("base64");
  } else {
    yield openString(encodeRunEvent({ ...event, text: "" }, offset));
    for (const text of slices(event.text)) yield JSON.stringify(text).slice(1, -1);
  }
  yield '"}';
}

/** A text in pieces. A surrogate pair stays in one piece, because its halves have no UTF-8. */
export function* slices(text: string): Generator<string> {
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = at + pieceLength;
    if (isHighSurrogate(text.charCodeAt(end - 1))) end++;
    yield text.slice(at, end);
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

const nothing = new Uint8Array(0);

/** The JSON of an object up to the content of its last member, an empty string. */
function openString(around: object): string {
  return JSON.stringify(around).slice(0, -2);
}
