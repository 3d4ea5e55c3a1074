import { z } from "zod";
import { policySchema } from "../schema.ts";
import type { PolicyPath } from "./problem.ts";

/** The part of JSON Schema that this project reads. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly [keyword: string]: unknown;
}

/** The JSON Schema (draft 2020-12) of `sandbox.policy.yaml`, for editors. */
export function policyJsonSchema(): JsonSchema {
  const { $schema, ...schema } = z.toJSONSchema(policySchema(), { io: "input", target: "draft-2020-12" });
  const title = "codecell policy";
  const description = "What code in a cell may do. The empty policy is the strictest.";
  return { $schema, title, description, ...schema } as JsonSchema;
}

/** The part of the schema that describes the value at `path`. */
export function schemaAt(path: PolicyPath, root: JsonSchema = policyJsonSchema()): JsonSchema | undefined {
  let node: JsonSchema | undefined = root;
  for (const part of path) {
    if (typeof part === "number") node = node?.items;
    else node = node?.properties && Object.hasOwn(node.properties, part) ? node.properties[part] : undefined;
  }
  return node;
}
