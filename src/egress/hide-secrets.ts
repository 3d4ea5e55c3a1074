import { Transform } from "node:stream";
import type { HeldSecret } from "./session-keys.ts";

const mask = "*";

/** Takes values out of what a server answers: one that repeats what it was sent would hand them to the cell. */
export class SecretHider {
  /** longest first: one form may be a part of another */
  readonly #forms: readonly Buffer[];

  constructor(secrets: readonly HeldSecret[]) {
    const forms = new Set(secrets.flatMap(({ value }) => formsOf(value)));
    this.#forms = [...forms].map((form) => Buffer.from(form)).sort((a, b) => b.length - a.length);
  }

  /** The hider for what a host answers, on whichever port; undefined where it was sent none. */
  static for(host: string, secrets: readonly HeldSecret[]): SecretHider | undefined {
    const own = secrets.filter(({ hosts }) => hosts.includes(host));
    return own.length === 0 ? undefined : new SecretHider(own);
  }

  text(text: string): string {
    const bytes = Buffer.from(text, "latin1");
    return this.#cover(bytes) ? bytes.toString("latin1") : text;
  }

  /** Asterisks take as much room as the value did, so that lengths stay true. Nothing waits that cannot be part of a value. */
  stream(): Transform {
    let held: Buffer = Buffer.alloc(0);
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        const bytes = Buffer.concat([held, chunk]);
        this.#cover(bytes);
        const keep = this.#beginning(bytes);
        held = bytes.subarray(bytes.length - keep);
        done(null, bytes.subarray(0, bytes.length - keep));
      },
      flush: (done) => done(null, held),
    });
  }

  #cover(bytes: Buffer): boolean {
    let isCovered = false;
    for (const form of this.#forms) {
      for (let at = bytes.indexOf(form); at >= 0; at = bytes.indexOf(form, at + form.length)) {
        bytes.fill(mask, at, at + form.length);
        isCovered = true;
      }
    }
    return isCovered;
  }

  /** How many bytes at the end may be the beginning of a value. */
  #beginning(bytes: Buffer): number {
    return Math.max(
      0,
      ...this.#forms.map((form) => {
        let size = Math.min(form.length - 1, bytes.length);
        while (size > 0 && form.compare(bytes, bytes.length - size, bytes.length, 0, size) !== 0) size--;
        return size;
      }),
    );
  }
}

/** The value as servers repeat it: as it is, in JSON, in a URL, and in base64 behind anything. */
function formsOf(value: string): string[] {
  const inBase64 = [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), Buffer.from(value)]).toString("base64url");
    // The first and the last characters depend on what stands beside the value.
    const inner = encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + value.length) * 8) / 6));
    return [inner, inner.replaceAll("-", "+").replaceAll("_", "/")];
  });
  const lower = encodeURIComponent(value).replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
  return [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value), lower, ...inBase64];
}
