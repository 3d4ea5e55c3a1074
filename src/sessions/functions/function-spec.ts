import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import type { HostFunction, HostFunctions, JsonSchema } from "./host-function.ts";
import { pythonHint } from "./python-hint.ts";
import { isReservedName } from "./reserved-names.ts";

/** A parameter of a function, as the kernel in the cell builds it. */
interface Parameter {
  readonly name: string;
  /** Python type hint */
  readonly hint: string;
  readonly required: boolean;
  readonly default?: unknown;
  /** takes every other keyword argument */
  readonly rest?: true;
}

/** A function, as the kernel in the cell builds it. */
export interface FunctionSpec {
  readonly name: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly returns: string;
  readonly kind?: HostFunction["kind"];
  readonly answers?: "model";
}

const maxFunctions = 256;
const maxSpecBytes = 1024 * 1024;

/** The functions as JSON for the cell. Throws for a function that no program could call. */
export function encodeSpecs(functions: HostFunctions): Buffer {
  const entries = Object.entries(functions);
  if (entries.length > maxFunctions) {
    throw new CodecellError("usage", `${entries.length} functions are exposed; the limit is ${maxFunctions}`);
  }
  const encoded = Buffer.from(JSON.stringify(entries.map(([name, exposed]) => functionSpec(name, exposed))));
  if (encoded.byteLength > maxSpecBytes) {
    const hint = "shorten their descriptions, or expose fewer functions";
    throw new CodecellError("too_large", "the descriptions of the exposed functions exceed 1 MiB", { hint });
  }
  return encoded;
}

export function functionSpec(name: string, exposed: HostFunctions[string]): FunctionSpec {
  if (!/^[A-Za-z_]\w{0,63}$/.test(name) || isReservedName(name)) {
    throw new CodecellError("usage", `a host function cannot be named ${JSON.stringify(name)}`, {
      hint: "use letters, digits and underscores, and no name that Python itself uses",
    });
  }
  const schema = schemaOf(exposed.input);
  const { properties = {}, required = [] } = schema as { properties?: object; required?: readonly string[] };
  if (schema.type !== "object") {
    const hint = 'describe the parameters as an object, for example { type: "object", properties: { … } }';
    throw new CodecellError("usage", `the input of host function ${name} is not an object`, { hint });
  }
  const parameters = Object.entries(properties).map(([parameter, property]): Parameter => {
    if (!/^[A-Za-z_]\w*$/.test(parameter) || isReservedName(parameter, "parameter")) {
      throw new CodecellError("usage", `host function ${name} cannot have a parameter ${JSON.stringify(parameter)}`);
    }
    const isRest = exposed.kind === "fork" && parameter === "inputs";
    const described = property as JsonSchema;
    return {
      ...{ name: parameter, hint: pythonHint(described), required: required.includes(parameter) },
      ...("default" in described && !required.includes(parameter) ? { default: described.default } : {}),
      ...(isRest ? { rest: true } : {}),
    };
  });
  if (exposed.kind !== "fork" && takesOthers(schema)) {
    const others = Object.hasOwn(properties, "kwargs") ? "other_kwargs" : "kwargs";
    if (!Object.hasOwn(properties, others)) parameters.push({ name: others, hint: "Any", required: false, rest: true });
  }
  return {
    ...{ name, description: docstring(exposed.description, properties), parameters },
    returns: exposed.output === undefined ? "Any" : pythonHint(schemaOf(exposed.output)),
    ...(exposed.kind ? { kind: exposed.kind } : {}),
    ...(exposed.answers ? { answers: exposed.answers } : {}),
  };
}

/** Only a schema that says so: without `additionalProperties`, a misspelled argument is an error. */
function takesOthers({ additionalProperties }: JsonSchema): boolean {
  return additionalProperties === true || (typeof additionalProperties === "object" && additionalProperties !== null);
}

/** The description, and a line for each parameter that has one. */
function docstring(description: string, properties: object): string {
  const lines = Object.entries(properties).flatMap(([name, { description: text }]) =>
    typeof text === "string" ? [`    ${name}: ${text}`] : [],
  );
  return lines.length === 0 ? description : `${description}\n\n${lines.join("\n")}`;
}

export function schemaOf(schema: JsonSchema | z.ZodType): JsonSchema {
  return schema instanceof z.ZodType ? (z.toJSONSchema(schema, { io: "input" }) as JsonSchema) : schema;
}

/** Checks values. A JSON Schema that zod cannot check is a mistake of the host program, found when it is exposed. */
export function checkerOf(name: string, schema: JsonSchema | z.ZodType): z.ZodType {
  if (schema instanceof z.ZodType) return schema;
  try {
    return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  } catch (cause) {
    const hint = "use a simpler schema, or a zod schema";
    throw new CodecellError("usage", `the schema of host function ${name} cannot be checked`, { hint, cause });
  }
}
