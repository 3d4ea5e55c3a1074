import { Transform } from "node:stream";
import type { HeldSecret } from "./session-keys.ts";

const mask = "*";

/** Takes values out of what a server answers: one that repeats what it was sent would hand them to the cell. */
export class SecretHider {
  readonly #forms: readonly Buffer[];

  constructor(secrets: readonly HeldSecret[]) {
    const forms = new Set(secrets.flatMap(({ value }) => formsOf(value)));
    this.#forms = [...forms].map((form) => Buffer.from(form));
  }

  /** The hider for what a host answers, on whichever port; undefined where it was sent none. */
  static for(host: string, secrets: readonly HeldSecret[]): SecretHider | undefined {
    const own = secrets.filter(({ hosts }) => hosts.includes(host));
    return own.length === 0 ? undefined : new SecretHider(own);
  }

  text(text: string): string {
    const bytes = Buffer.from(text, "latin1");
    return this.#cover(bytes, Buffer.from(bytes)).toString("latin1");
  }

  /** Asterisks take as much room as the value did, so that lengths stay true. Nothing waits that cannot be part of a value. */
  stream(): Transform {
    const none: Buffer = Buffer.alloc(0);
    /** what waits, as it came and as it will be shown: a shorter value must not hide the beginning of a longer one */
    let held = { raw: none, shown: none };
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        const raw = Buffer.concat([held.raw, chunk]);
        const shown = this.#cover(raw, Buffer.concat([held.shown, chunk]));
        const cut = raw.length - this.#beginning(raw);
        held = { raw: raw.subarray(cut), shown: shown.subarray(cut) };
        done(null, shown.subarray(0, cut));
      },
      flush: (done) => done(null, held.shown),
    });
  }

  #cover(raw: Buffer, shown: Buffer): Buffer {
    for (const form of this.#forms) {
      for (let at = raw.indexOf(form); at >= 0; at = raw.indexOf(form, at + 1)) shown.fill(mask, at, at + form.length);
    }
    return shown;
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
