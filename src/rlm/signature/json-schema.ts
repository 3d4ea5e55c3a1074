import type { FieldType, LiteralValue } from "./field-type.ts";
import type { Field, Signature } from "./signature.ts";

/** The part of JSON Schema that types of fields need. */
export interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly LiteralValue[];
}

/** The schema of what SUBMIT takes. */
export function outputSchema({ outputs }: Signature): JsonSchema {
  return fieldsSchema(outputs);
}

/** The schema of the inputs. */
export function inputSchema({ inputs }: Signature): JsonSchema {
  return fieldsSchema(inputs);
}

function fieldsSchema(fields: readonly Field[]): JsonSchema {
  return {
    type: "object",
    properties: Object.fromEntries(fields.map((field) => [field.name, fieldSchema(field)])),
    required: fields.map(({ name }) => name),
    additionalProperties: false,
  };
}

function fieldSchema({ type, description }: Field): JsonSchema {
  return { ...typeSchema(type), ...(description !== undefined && { description }) };
}

export function typeSchema(type: FieldType): JsonSchema {
  switch (type.kind) {
    case "str":
      return { type: "string" };
    case "int":
      return { type: "integer" };
    case "float":
      return { type: "number" };
    case "bool":
      return { type: "boolean" };
    case "none":
      return { type: "null" };
    case "any":
      return {};
    case "list":
      return { type: "array", items: typeSchema(type.of) };
    case "dict":
      return { type: "object", additionalProperties: typeSchema(type.of) };
    case "literal":
      return { enum: type.values };
    case "union":
      return { anyOf: type.of.map(typeSchema) };
  }
}
