import type { z } from "zod";

type StandardSchema = z.ZodObject["~standard"];
type JsonSchema = Readonly<Record<string, unknown>>;

/** A schema that validates as before, but is listed without what every client assumes anyway: each tool pays for it. */
export function leanSchema(schema: z.ZodObject): z.ZodObject {
  const standard = schema["~standard"];
  const { jsonSchema } = standard;
  if (jsonSchema === undefined) return schema;
  const lean =
    (convert: typeof jsonSchema.input): typeof jsonSchema.input =>
    (options) =>
      leanObject(convert(options));
  const own: StandardSchema = {
    ...standard,
    jsonSchema: { input: lean(jsonSchema.input), output: lean(jsonSchema.output) },
  };
  return { "~standard": own } as unknown as z.ZodObject;
}

function leanObject(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key, value]) => key !== "$schema" && !(key === "maximum" && value === Number.MAX_SAFE_INTEGER))
      .map(([key, value]) => [key, isObject(value) ? leanObject(value) : value]),
  );
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
