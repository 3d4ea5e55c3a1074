import { CodecellError } from "../../lib/errors.ts";
import type { JsonSchema } from "../../sessions/functions/host-function.ts";
import { referredSchema } from "../../sessions/functions/schema-reference.ts";

/** Keywords whose check takes time that only the value decides, or more than a look at each value. */
const refused = [
  ...["pattern", "patternProperties", "propertyNames", "not", "contains", "uniqueItems", "if", "then", "else"],
  ...[
    "dependentSchemas",
    "dependentRequired",
    "unevaluatedItems",
    "unevaluatedProperties",
    "$dynamicRef",
    "$recursiveRef",
  ],
];
/** Keywords that hold a schema, or a list of them. */
const nested = ["additionalProperties", "items", "additionalItems", "prefixItems", "anyOf", "oneOf", "allOf"];
/** of one schema, with what it refers to, and of all schemas of a session: a validator is made of each part */
const maxParts = { ofOne: 1_000, ofAll: 10_000 } as const;
const maxDepth = 32;
const hint = "check the values in the function itself, and say in its description what they may be";

/**
 * Refuses schemas of a client that would take too long to check. The attacks: a pattern such as `^(a+)+$`, and references that double
 * with each level, each of which keeps the service from everybody else for as long as the tenant's program likes.
 */
export function assertCheckable(
  functions: readonly { readonly name: string; readonly input: JsonSchema; readonly output?: JsonSchema }[],
): void {
  let parts = 0;
  for (const { name, input, output } of functions) {
    for (const schema of output === undefined ? [input] : [input, output]) parts += partsOf(name, schema);
  }
  if (parts > maxParts.ofAll) {
    throw new CodecellError("usage", `the schemas of the functions have more than ${maxParts.ofAll} parts`, { hint });
  }
}

function partsOf(name: string, schema: JsonSchema): number {
  const fail = (what: string): never => {
    throw new CodecellError("usage", `the schema of function ${name} ${what}`, { hint });
  };
  let parts = 0;
  const look = (part: unknown, depth: number): void => {
    if (++parts > maxParts.ofOne) fail(`has more than ${maxParts.ofOne} parts, with what it refers to`);
    if (depth > maxDepth) fail("refers to itself, or is nested too deep");
    if (typeof part !== "object" || part === null) return;
    const keyword = refused.find((one) => Object.hasOwn(part, one));
    if (keyword !== undefined) fail(`has ${keyword}, which functions of clients cannot have`);
    const { $ref, properties, ...others } = part as JsonSchema;
    if ($ref !== undefined)
      look(referredSchema(schema, $ref) ?? fail(`refers to ${String($ref).slice(0, 100)}`), depth + 1);
    for (const one of [Object.values(properties ?? {}), ...nested.map((keyword) => others[keyword] ?? [])].flat()) {
      look(one, depth + 1);
    }
  };
  look(schema, 0);
  return parts;
}
