import { z } from "zod";
import { type WireName, wireNames, wireSchemas } from "../../src/service/wire/schemas.ts";

const names = new Map<z.ZodType, WireName>(wireNames.map((name) => [wireSchemas[name], name]));

/** The table of an object's fields, as in docs/wire.md. */
export function fieldTable(name: WireName): string {
  const schema = wireSchemas[name];
  const variants: readonly z.ZodType[] =
    schema instanceof z.ZodDiscriminatedUnion ? (schema.options as z.ZodType[]) : [];
  const rows = variants.length > 0 ? variants.map(variantRow) : fieldRows(schema, "");
  const head = variants.length > 0 ? "| `type` | other fields | meaning |" : "| field | type | meaning |";
  return [head, "|---|---|---|", ...rows].join("\n");
}

function variantRow(variant: z.ZodType): string {
  const { type, ...others } = (variant as z.ZodObject).shape;
  const [value] = [...(type as z.ZodLiteral).values];
  const fields = Object.entries(others).map(([name, field]) => `\`${name}\` (${typeText(field as z.ZodType)})`);
  return `| \`${String(value)}\` | ${fields.join(", ")} | ${variant.description ?? ""} |`;
}

function fieldRows(schema: z.ZodType, prefix: string): string[] {
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const { inner, isList } = innermost(field);
    const nested = names.has(inner) ? [] : fieldRows(inner, `${path}${isList ? "[]" : ""}.`);
    return [`| \`${path}\` | ${typeText(field)} | ${descriptionOf(field)} |`, ...nested];
  });
}

function descriptionOf(field: z.ZodType): string {
  return field.description ?? "";
}

function innermost(field: z.ZodType): { inner: z.ZodType; isList: boolean } {
  if (field instanceof z.ZodNullable || field instanceof z.ZodOptional) return innermost(field.unwrap() as z.ZodType);
  if (field instanceof z.ZodArray) return { inner: innermost(field.element as z.ZodType).inner, isList: true };
  return { inner: field, isList: false };
}

function typeText(field: z.ZodType): string {
  if (field instanceof z.ZodNullable) return `${typeText(field.unwrap() as z.ZodType)} or null`;
  if (field instanceof z.ZodOptional) return `${typeText(field.unwrap() as z.ZodType)}, may be absent`;
  if (field instanceof z.ZodArray) return `list of ${typeText(field.element as z.ZodType)}`;
  const named = names.get(field);
  if (named !== undefined) return `[${named}](#${named})`;
  if (field instanceof z.ZodEnum) return field.options.map((one) => `\`${one}\``).join(", ");
  if (field instanceof z.ZodObject || field instanceof z.ZodRecord) return "object";
  const { type, format } = z.toJSONSchema(field) as { type?: string; format?: string };
  return format === "date-time" ? "timestamp" : (type ?? "any");
}
