/** A value of a `Literal[…]`. */
export type LiteralValue = string | number | boolean | null;

/** The type of a field, as a tree. `none` is only found in a union: `Optional[T]` is the union of T and none. */
export type FieldType =
  | { readonly kind: "str" | "int" | "float" | "bool" | "any" | "none" }
  | { readonly kind: "list"; readonly of: FieldType }
  /** keys are always str: outputs travel as JSON */
  | { readonly kind: "dict"; readonly of: FieldType }
  | { readonly kind: "union"; readonly of: readonly FieldType[] }
  | { readonly kind: "literal"; readonly values: readonly LiteralValue[] };

/** Whether None is a value of the type. */
export function allowsNone(type: FieldType): boolean {
  if (type.kind === "union") return type.of.some(allowsNone);
  if (type.kind === "literal") return type.values.includes(null);
  return type.kind === "none" || type.kind === "any";
}

/** The type as Python writes it; `parseType` reads it back. */
export function typeText(type: FieldType): string {
  switch (type.kind) {
    case "any":
      return "Any";
    case "none":
      return "None";
    case "list":
      return `list[${typeText(type.of)}]`;
    case "dict":
      return `dict[str, ${typeText(type.of)}]`;
    case "literal":
      return `Literal[${type.values.map(literalText).join(", ")}]`;
    case "union":
      return unionText(type.of);
    default:
      return type.kind;
  }
}

function unionText(members: readonly FieldType[]): string {
  const [only, ...others] = members.filter(({ kind }) => kind !== "none");
  if (only !== undefined && others.length === 0) return `Optional[${typeText(only)}]`;
  return members.map(typeText).join(" | ");
}

/** A literal as Python writes it. JSON's escapes are valid in a Python string. */
export function literalText(value: LiteralValue): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return JSON.stringify(value);
}
