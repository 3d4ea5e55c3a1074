import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  decodeCompletions,
  decodeFileList,
  decodeInspection,
  decodeRestoreFailures,
  decodeVariables,
} from "../../src/kernel/cell-json.ts";
import { plainDone } from "../../src/kernel/plain-done.ts";
import { parsePreview } from "../../src/kernel/value-preview.ts";
import { CodecellError } from "../../src/lib/errors.ts";
import { pngProblem, pngSize } from "../../src/service/replies/sound-image.ts";
import { readManifest } from "../../src/sessions/storage/snapshot-manifest.ts";
import { smallPng } from "../fakes/small-png.ts";
import { cellHeaders } from "../support/fuzz/cell-messages.ts";
import { patienceMs, tries } from "../support/fuzz/long-mode.ts";
import { mutatedBytes, mutatedObject } from "../support/fuzz/mutations.ts";

/** Characters that were given to a JSON parser: the work of a decoder is linear if they are no more than it was given. */
let parsedCharacters = 0;
const parse = JSON.parse;
beforeEach(() => {
  vi.spyOn(JSON, "parse").mockImplementation((text: string, reviver) => {
    parsedCharacters += text.length;
    return parse(text, reviver);
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const entry = (header: object, value: Buffer) => {
  const [text, prefix] = [json(header), Buffer.alloc(12)];
  prefix.writeUInt32LE(text.length, 0);
  prefix.writeBigUInt64LE(BigInt(value.length), 4);
  return Buffer.concat([prefix, text, value]);
};
const file = { path: "a/b.txt", size: 3, modifiedMs: 1 };

interface Decoder {
  readonly honest: readonly Buffer[];
  readonly decode: (data: Buffer) => unknown;
  /** how many things a result may have */
  readonly most: number;
}
const decoders: Readonly<Record<string, Decoder>> = {
  variables: {
    honest: [json([{ name: "x", type: "int", size: 28, summary: "6" }]), json([])],
    ...{ decode: decodeVariables, most: 10_000 },
  },
  files: {
    honest: [json({ files: [file, file], next: "b", leftOut: 0, truncated: false })],
    ...{ decode: (data) => decodeFileList(data).files, most: 10_000 },
  },
  "variables that were not restored": {
    honest: [json([{ name: "x", reason: "it cannot be pickled" }])],
    ...{ decode: decodeRestoreFailures, most: 10_000 },
  },
  completions: {
    honest: [json({ matches: [{ text: "price", kind: "value" }], truncated: false })],
    ...{ decode: (data) => decodeCompletions(data).matches, most: 1_000 },
  },
  "the description of a name": {
    honest: [json({ name: "f", type: "function", signature: "f()", doc: "Adds.", truncated: true }), json(null)],
    ...{ decode: (data) => [decodeInspection(data)], most: 1 },
  },
  "a snapshot": {
    honest: [
      Buffer.concat([entry({ name: "x" }, Buffer.alloc(9)), entry({ name: "y", skipped: "no" }, Buffer.alloc(0))]),
    ],
    decode: (data) => [...readManifest(data).saved, ...readManifest(data).skipped],
    most: 5_000,
  },
  "a preview": {
    honest: [
      Buffer.from('{"form":"json","characters":5}\n[1,2]'),
      Buffer.from('{"form":"repr","characters":900}\n<x>'),
    ],
    ...{ decode: (data) => [parsePreview(data)], most: 1 },
  },
};

describe.each(Object.entries(decoders))("%s from a cell", (_name, { honest, decode, most }) => {
  test(
    "are decoded or rejected with a code, and no byte is parsed more often than once, however they are mutated",
    () => {
      const property = fc.property(mutatedBytes(honest), (bytes) => {
        parsedCharacters = 0;
        try {
          expect((decode(bytes) as unknown[]).length).toBeLessThanOrEqual(most);
        } catch (error) {
          expect(error).toBeInstanceOf(CodecellError);
        }
        // the snapshot above is read twice
        expect(parsedCharacters).toBeLessThanOrEqual(2 * bytes.length);
      });
      fc.assert(property, tries(800));
    },
    patienceMs,
  );
});

test(
  "a mutated image is sound or not, and a sound one has a size that clients can show",
  () => {
    const property = fc.property(mutatedBytes([smallPng(), smallPng({ width: 8_000 })]), (bytes) => {
      if (pngProblem(bytes) !== undefined) return;
      const { width, height } = pngSize(bytes);
      expect(Math.max(width, height)).toBeLessThanOrEqual(8_000);
    });
    fc.assert(property, tries(1_500));
  },
  patienceMs,
);

test(
  "the quick way to read the end of a run takes only what the full check takes, and reads the same from it",
  async () => {
    const { cellMessage } = await import("../../src/kernel/messages.ts");
    const ends = cellHeaders.filter((header) => "t" in header && header.t === "done");
    const property = fc.property(
      mutatedObject([...ends, { t: "done", id: 3, status: "ok", state: "kept" }]),
      (header) => {
        const quick = plainDone(header);
        if (quick === undefined) return;
        const full = cellMessage.safeParse(header);
        expect(full.success).toBe(true);
        expect({ ...quick }).toEqual(full.data);
      },
    );
    fc.assert(property, tries(2_000));
  },
  patienceMs,
);
