import { isRecord } from "../../lib/is-record.ts";
import type { JsonSchema } from "./host-function.ts";

/** What a `$ref` refers to: the schema itself, or one of its definitions. Undefined: anything else. */
export function referredSchema(root: JsonSchema, reference: unknown): unknown {
  if (reference === "#") return root;
  const [, group = "", name = ""] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(String(reference)) ?? [];
  const definitions = root[group];
  const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
  return isRecord(definitions) && Object.hasOwn(definitions, key) ? definitions[key] : undefined;
}
