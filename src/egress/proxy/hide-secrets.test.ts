import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { SecretHider } from "./hide-secrets.ts";

const secret = (value: string) => ({ name: "T", placeholder: "p", value, hosts: ["good.example"] });
const value = "tok/en+with=odd&characters";
const hider = new SecretHider([secret(value)]);

async function through(text: string | Buffer, size: number, one = hider): Promise<Buffer> {
  const bytes = Buffer.from(text as string);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
  return buffer(Readable.from(pieces, { objectMode: false }).pipe(one.stream()));
}

test.each([1, 2, 3, 7, 26, 27, 1000])(
  "SecretHider hides a value that comes in chunks of %i bytes, and changes nothing else",
  async (size) => {
    const text = `before tok/en ${value}${value} tok/en+with after`;
    const hidden = (await through(text, size)).toString();
    expect(hidden).toBe(`before tok/en ${"*".repeat(2 * value.length)} tok/en+with after`);
  },
);

test("SecretHider does not change binary data", async () => {
  const bytes = Buffer.from(Array.from({ length: 4096 }, (_, index) => (index * 7919) % 256));
  expect((await through(bytes, 100)).equals(bytes)).toBe(true);
});

test.each([0, 1, 2])("SecretHider hides the base64 of a value after %i other bytes", async (offset) => {
  for (const form of ["base64", "base64url"] as const) {
    const encoded = Buffer.from(`${"u:".slice(0, offset)}${value}`).toString(form);
    const hidden = (await through(encoded, 5)).toString();
    expect(hidden).toHaveLength(encoded.length);
    // the first and last base64 characters also encode neighbouring bytes
    expect(hidden.replaceAll("*", "").length).toBeLessThan(8);
  }
});

test("SecretHider hides the longer of two values with the same start", async () => {
  const both = new SecretHider([secret("abcdefgh"), secret("abcdefghijkl")]);
  expect((await through("abcdefghijkl abcdefgh", 3, both)).toString()).toBe("************ ********");
});

test("SecretHider holds back as many bytes for a right guess as for a wrong one", () => {
  const shownAtOnce = (text: string) => {
    const stream = hider.stream();
    stream.write(text);
    return stream.read()?.length ?? 0;
  };
  const padding = "-".repeat(300);
  for (let size = 1; size < value.length; size++) {
    const guess = value.slice(0, size);
    const wrong = `${guess.slice(0, -1)}~`;
    expect(shownAtOnce(`${padding}${guess}`)).toBe(shownAtOnce(`${padding}${wrong}`));
  }
  expect(shownAtOnce(`data: ${value.slice(0, 9)}\n\n`)).toBe(17);
});

test.each([
  ["JSON with escaped slashes, as PHP writes it", "tok\\/en+with=odd&characters"],
  ["JSON that is safe in HTML, as Go writes it", "tok/en+with=odd\\u0026characters"],
  ["JSON as .NET writes it", "tok/en\\u002Bwith=odd\\u0026characters"],
  ["a URL that keeps slashes", "tok/en%2Bwith%3Dodd%26characters"],
  ["a URL in lower case", "tok%2fen%2bwith%3dodd%26characters"],
  ["HTML", "tok/en+with=odd&amp;characters"],
  ["HTML as Go writes it", "tok/en&#43;with=odd&amp;characters"],
  ["HTML as template engines write it", "tok&#x2F;en+with&#x3D;odd&amp;characters"],
])("SecretHider hides a value in %s", async (_, text) => {
  expect((await through(text, 4)).toString()).toBe("*".repeat(text.length));
});

test("SecretHider hides the base64 of a value in JSON with escaped slashes", async () => {
  const one = new SecretHider([secret("???>>>?????")]);
  const encoded = Buffer.from("u:???>>>?????").toString("base64");
  expect(encoded).toContain("/");
  const hidden = (await through(encoded.replaceAll("/", "\\/"), 4, one)).toString();
  expect(hidden.replaceAll("*", "").length).toBeLessThan(8);
});

test("SecretHider.for returns a hider only for hosts that get a secret", () => {
  expect(SecretHider.for("good.example", [secret(value)])).toBeDefined();
  expect(SecretHider.for("other.example", [secret(value)])).toBeUndefined();
});
