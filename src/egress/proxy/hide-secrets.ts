import { Transform } from "node:stream";
import type { HeldSecret } from "../process/session-keys.ts";

const mask = "*";

/** Masks secrets in responses. The attack: a server that echoes the request would give the value to the cell. */
export class SecretHider {
  readonly #forms: readonly Buffer[];
  readonly #longest: number;

  constructor(secrets: readonly HeldSecret[]) {
    this.#forms = [...new Set(secrets.flatMap(formsOf))].map((form) => Buffer.from(form));
    this.#longest = Math.max(0, ...this.#forms.map(({ length }) => length));
  }

  /** The hider for responses of a host, on any port; undefined if the host gets no secret. */
  static for(host: string, secrets: readonly HeldSecret[]): SecretHider | undefined {
    const own = secrets.filter(({ hosts }) => hosts.includes(host));
    return own.length === 0 ? undefined : new SecretHider(own);
  }

  text(text: string): string {
    const bytes = Buffer.from(text, "latin1");
    return this.#cover(bytes, Buffer.from(bytes)).toString("latin1");
  }

  /** Masks a value with asterisks of the same length, so that Content-Length stays right. Complete lines are not delayed. */
  stream(): Transform {
    const none: Buffer = Buffer.alloc(0);
    /** held back, raw and masked: masking a shorter value must not hide the start of a longer one */
    let held = { raw: none, shown: none };
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        const raw = Buffer.concat([held.raw, chunk]);
        const shown = this.#cover(raw, Buffer.concat([held.shown, chunk]));
        const cut = raw.length - this.#waiting(raw);
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

  /**
   * How many bytes to hold back because a value may start there: all printable ones at the end. The attack: if only a matching
   * prefix were held back, a cell could let a server echo its guess. Delays and chunk boundaries would then show how much of
   * the guess is right, one character at a time.
   */
  #waiting(bytes: Buffer): number {
    const most = Math.min(bytes.length, this.#longest - 1);
    let size = 0;
    while (size < most && isPrintable(bytes[bytes.length - 1 - size] ?? 0)) size++;
    return size;
  }
}

function isPrintable(byte: number): boolean {
  return byte >= 0x20 && byte <= 0x7e;
}

/** The value in the forms that servers echo: plain and base64 at any offset, each escaped for JSON, URLs and HTML. */
function formsOf(secret: HeldSecret): readonly string[] {
  const known = formsKnown.get(secret) ?? makeForms(secret.value);
  formsKnown.set(secret, known); // cached, because each request makes a hider
  return known;
}

const formsKnown = new WeakMap<HeldSecret, readonly string[]>();

function makeForms(value: string): string[] {
  const inBase64 = [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), Buffer.from(value)]).toString("base64url");
    // The first and last characters depend on the bytes around the value.
    const inner = encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + value.length) * 8) / 6));
    return [inner, inner.replaceAll("-", "+").replaceAll("_", "/")];
  });
  return [...new Set([value, ...inBase64].flatMap((text) => [text, ...writers.map((write) => write(text))]))];
}

/** Escaping as common libraries do it. They differ in which characters they escape. */
const writers: readonly ((text: string) => string)[] = [
  inJson,
  (text) => inJson(text).replaceAll("/", "\\/"),
  (text) => escaped(inJson(text), /[<>&]/g, (code) => `\\u00${code}`),
  (text) => escaped(text, /[<>&'"+`\\]/g, (code) => `\\u00${code.toUpperCase()}`),
  encodeURI,
  encodeURIComponent,
  (text) => encodeURIComponent(text).replaceAll("%2F", "/"),
  (text) => encodeURIComponent(text).replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
  (text) => escaped(encodeURIComponent(text), /[!'()*]/g, (code) => `%${code.toUpperCase()}`),
  (text) => new URLSearchParams([["", text]]).toString().slice(1),
  inHtml,
  (text) => inHtml(text).replaceAll("&quot;", "&#34;").replaceAll("+", "&#43;"),
  (text) => escaped(inHtml(text).replaceAll("&#39;", "'"), /[/'=`]/g, (code) => `&#x${code.toUpperCase()};`),
];

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function inHtml(text: string): string {
  const names: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return text.replace(/[&<>"']/g, (one) => names[one] ?? one);
}

/** `write` gets two hexadecimal digits. */
function escaped(text: string, which: RegExp, write: (code: string) => string): string {
  return text.replace(which, (one) => write(one.charCodeAt(0).toString(16).padStart(2, "0")));
}
