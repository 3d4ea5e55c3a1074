import fc, { type Arbitrary } from "fast-check";

/** Values where parsers go wrong: edges of integers, other types, names of built-in properties, text that grows. */
export const oddValues: readonly unknown[] = [
  ...[0, -1, 1, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 63), 1e308, 0.5, null, true, false, "", [], {}],
  ...["__proto__", "constructor", "../../etc/passwd", "\0", "\u202e", "\ud800", "x".repeat(5000), [[[[]]]], { t: "x" }],
];

/** Bytes made of honest ones by a few edits: flipped, inserted, deleted, repeated, cut, or joined with another sample. */
export function mutatedBytes(samples: readonly Uint8Array[]): Arbitrary<Buffer> {
  const sample = fc.constantFrom(...samples);
  const at = fc.double({ min: 0, max: 1, noNaN: true });
  const edit = fc.oneof(
    fc.record({ kind: fc.constant("flip" as const), at, bit: fc.nat(7) }),
    fc.record({ kind: fc.constant("insert" as const), at, bytes: fc.uint8Array({ maxLength: 8 }) }),
    fc.record({ kind: fc.constant("delete" as const), at, length: fc.nat(16) }),
    fc.record({
      kind: fc.constant("number" as const),
      at,
      value: fc.constantFrom(0, 1, 0x7f, 0xffff, 2 ** 22, 2 ** 32 - 1),
    }),
    fc.record({ kind: fc.constant("repeat" as const), at, times: fc.integer({ min: 2, max: 5 }) }),
    fc.record({ kind: fc.constant("cut" as const), at }),
    fc.record({ kind: fc.constant("join" as const), other: sample }),
  );
  return fc.tuple(sample, fc.array(edit, { maxLength: 4 })).map(([bytes, edits]) =>
    edits.reduce((data: Buffer, one) => {
      const place = "at" in one ? Math.floor(one.at * data.length) : 0;
      if (one.kind === "cut") return data.subarray(0, place);
      if (one.kind === "join") return Buffer.concat([data, one.other]);
      if (one.kind === "repeat")
        return Buffer.concat(Array.from({ length: one.times }, () => data)).subarray(0, 65_536);
      if (one.kind === "insert") return Buffer.concat([data.subarray(0, place), one.bytes, data.subarray(place)]);
      if (one.kind === "delete") return Buffer.concat([data.subarray(0, place), data.subarray(place + one.length)]);
      const copy = Buffer.from(data);
      if (one.kind === "flip" && place < copy.length) copy[place] = (copy[place] as number) ^ (1 << one.bit);
      if (one.kind === "number" && place + 4 <= copy.length) copy.writeUInt32LE(one.value, place);
      return copy;
    }, Buffer.from(bytes)),
  );
}

/** An honest object with a few members removed, replaced by odd values, or added. */
export function mutatedObject(samples: readonly object[]): Arbitrary<Record<string, unknown>> {
  const names = [...new Set(samples.flatMap((sample) => Object.keys(sample)))];
  const edit = fc.record({
    name: fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...names) }, fc.constantFrom("__proto__", "toString", "")),
    value: fc.oneof(fc.constantFrom(...oddValues), fc.constant(undefined), fc.nat(9)),
  });
  return fc.tuple(fc.constantFrom(...samples), fc.array(edit, { maxLength: 3 })).map(([sample, edits]) => {
    const copy: Record<string, unknown> = { ...sample };
    for (const { name, value } of edits) {
      if (value === undefined) delete copy[name];
      // as a JSON parser does it: an own member, even for __proto__
      else Object.defineProperty(copy, name, { value, enumerable: true, configurable: true, writable: true });
    }
    return copy;
  });
}
