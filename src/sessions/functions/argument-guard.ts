import { z } from "zod";
import { isRecord } from "../../lib/is-record.ts";
import type { JsonSchema } from "./host-function.ts";
import { referredSchema } from "./schema-reference.ts";

/** `wrong`: outside of alternatives. `tried`: in alternatives that did not fit. */
const limits = { wrong: 100, tried: 100_000, steps: 3_000_000, depth: 256 } as const;
const maxShown = 8;

/** A value that costs more to check than it may. */
class TooCostly extends Error {}

/** Where a value is: the end of a list that leads to the root. */
interface Place {
  readonly parent: Place | undefined;
  readonly key: string | number;
}

/**
 * Looks at values before zod checks them. The attack: zod makes an object for each wrong value and never stops, so 0.7 MB of empty
 * rows, each without its 40 columns, filled the heap of the host. This stops at the hundredth. What passes it may still be wrong.
 */
export class ArgumentGuard {
  readonly #schema: JsonSchema;

  constructor(schema: JsonSchema | z.ZodType) {
    this.#schema = schema instanceof z.ZodType ? inputSchemaOf(schema) : schema;
  }

  /** What is wrong with a value that zod must not see, for whoever sent it. */
  problem(value: unknown): string | undefined {
    const look = new Look(this.#schema);
    try {
      look.fits(this.#schema, value, undefined, { isBranch: false, depth: 0 });
    } catch (error) {
      if (!(error instanceof TooCostly)) throw error;
      return look.wrong.length < limits.wrong
        ? "it has too many values to be checked: pass fewer at a time"
        : [...look.wrong.slice(0, maxShown), `and at least ${limits.wrong - maxShown} more`].join("; ");
    }
    return undefined;
  }
}

interface Way {
  /** in an alternative: another one may fit */
  readonly isBranch: boolean;
  readonly depth: number;
}

/** One look at one value. */
class Look {
  readonly wrong: string[] = [];
  readonly #root: JsonSchema;
  #tried = 0;
  #steps = 0;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  /** Keywords that it does not know allow everything: zod looks at them. */
  fits(schema: unknown, value: unknown, at: Place | undefined, way: Way): boolean {
    if (++this.#steps > limits.steps || way.depth > limits.depth) throw new TooCostly();
    if (schema === false) return this.#refuse(at, "no value is allowed", way);
    if (!isRecord(schema)) return true;
    const deeper = { ...way, depth: way.depth + 1 };
    if (typeof schema.$ref === "string") return this.fits(referredSchema(this.#root, schema.$ref), value, at, deeper);
    if (!isOfTypes(schema.type, value)) {
      return this.#refuse(at, `expected ${[schema.type].flat().join(" or ")}, received ${typeOf(value)}`, way);
    }
    if (Array.isArray(schema.enum) && isScalar(value) && !schema.enum.includes(value)) {
      return this.#refuse(at, "it is none of the allowed values", way);
    }
    let fits = true;
    const either = schema.anyOf ?? schema.oneOf;
    if (Array.isArray(either)) {
      const branch = { isBranch: true, depth: deeper.depth };
      if (!either.some((one) => this.fits(one, value, at, branch)))
        fits = this.#refuse(at, "it fits no alternative", way);
    }
    if (Array.isArray(schema.allOf)) {
      for (const one of schema.allOf) fits = this.fits(one, value, at, deeper) && fits;
    }
    if (Array.isArray(value)) return this.#itemsFit(schema, value, at, deeper) && fits;
    return isRecord(value) ? this.#membersFit(schema, value, at, deeper) && fits : fits;
  }

  #itemsFit(schema: JsonSchema, values: readonly unknown[], at: Place | undefined, way: Way): boolean {
    const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
    let fits = true;
    for (const [index, value] of values.entries()) {
      const item = index < first.length ? first[index] : schema.items;
      if (item !== undefined) fits = this.fits(item, value, { parent: at, key: index }, way) && fits;
    }
    return fits;
  }

  #membersFit(schema: JsonSchema, value: Record<string, unknown>, at: Place | undefined, way: Way): boolean {
    const properties = isRecord(schema.properties) ? schema.properties : {};
    let fits = true;
    for (const name of Array.isArray(schema.required) ? schema.required : []) {
      if (Object.hasOwn(value, name)) continue;
      this.#steps++;
      fits = this.#refuse({ parent: at, key: String(name) }, "it is missing", way);
    }
    for (const [name, member] of Object.entries(value)) {
      const isKnown = Object.hasOwn(properties, name);
      const described = isKnown ? properties[name] : schema.additionalProperties;
      if (described === undefined || (!isKnown && schema.patternProperties !== undefined)) continue;
      fits = this.fits(described, member, { parent: at, key: name }, way) && fits;
    }
    return fits;
  }

  #refuse(at: Place | undefined, why: string, { isBranch }: Way): false {
    if (isBranch) {
      if (++this.#tried > limits.tried) throw new TooCostly();
      return false;
    }
    const keys: (string | number)[] = [];
    for (let place = at; place !== undefined; place = place.parent) keys.unshift(place.key);
    this.wrong.push(keys.length > 0 ? `${keys.join(".")}: ${why}` : why);
    if (this.wrong.length >= limits.wrong) throw new TooCostly();
    return false;
  }
}

/** What zod accepts, as far as a JSON Schema can say it: a value that is coerced or replaced may be anything. */
function inputSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, {
    ...{ io: "input", unrepresentable: "any" },
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      const isAnything = def.type === "catch" || ("coerce" in def && def.coerce === true);
      if (isAnything) for (const keyword of Object.keys(jsonSchema)) delete jsonSchema[keyword];
    },
  }) as JsonSchema;
}

function isOfTypes(types: unknown, value: unknown): boolean {
  if (types === undefined) return true;
  const own = typeOf(value);
  return [types].flat().some((type) => type === own || (type === "number" && own === "integer"));
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

function isScalar(value: unknown): boolean {
  return value === null || typeof value !== "object";
}
