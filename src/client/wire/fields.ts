import { CodecellError } from "../../lib/errors.ts";

/** Reads the fields of an object that a service sent. A field of another type is an error, and unknown fields are ignored. */
export class Fields {
  readonly #object: object;
  readonly #what: string;

  constructor(value: unknown, what: string) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw unreadable(what, "is not an object");
    this.#object = value;
    this.#what = what;
  }

  /** Own fields only: what an object inherits does not come from the service. */
  any(name: string): unknown {
    return Object.hasOwn(this.#object, name) ? (this.#object as Record<string, unknown>)[name] : undefined;
  }

  has(name: string): boolean {
    return (this.any(name) ?? null) !== null;
  }

  text(name: string): string {
    const value = this.any(name);
    return typeof value === "string" ? value : this.#fail(name, "a text");
  }

  number(name: string): number {
    const value = this.any(name);
    return typeof value === "number" && Number.isFinite(value) ? value : this.#fail(name, "a number");
  }

  /** A whole number of at least 0. */
  count(name: string): number {
    const value = this.any(name);
    return Number.isSafeInteger(value) && (value as number) >= 0
      ? (value as number)
      : this.#fail(name, "a whole number");
  }

  flag(name: string): boolean {
    const value = this.any(name);
    return typeof value === "boolean" ? value : this.#fail(name, "true or false");
  }

  /** Milliseconds since 1970. */
  time(name: string): number {
    const ms = Date.parse(this.text(name));
    return Number.isNaN(ms) ? this.#fail(name, "a time") : ms;
  }

  oneOf<Value extends string>(name: string, values: readonly Value[]): Value {
    const value = this.any(name);
    return values.find((one) => one === value) ?? this.#fail(name, `one of ${values.join(", ")}`);
  }

  list<Item>(name: string, decode: (item: unknown, what: string) => Item): Item[] {
    const value = this.any(name);
    if (!Array.isArray(value)) return this.#fail(name, "a list");
    return value.map((item) => decode(item, `${name} of ${this.#what}`));
  }

  texts(name: string): string[] {
    return this.list(name, (item) => (typeof item === "string" ? item : this.#fail(name, "a list of texts")));
  }

  object(name: string): Fields {
    return new Fields(this.any(name), `${name} of ${this.#what}`);
  }

  /** What `read` gives, or undefined if the field is null or absent. */
  optional<Value>(name: string, read: (name: string) => Value): Value | undefined {
    return this.has(name) ? read.call(this, name) : undefined;
  }

  #fail(name: string, expected: string): never {
    throw unreadable(this.#what, `has no \`${name}\` that is ${expected}`);
  }
}

function unreadable(what: string, why: string): CodecellError {
  return new CodecellError("service_unavailable", `the service sent something unreadable: ${what} ${why}`, {
    hint: "use a client and a service of the same version",
    details: { status: 200 },
  });
}
