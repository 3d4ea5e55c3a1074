import { z } from "zod";
import { errorSchema } from "../../service/wire/error.ts";
import { wireSchemas } from "../../service/wire/schemas.ts";
import { namespaceQuery, takesNamespace } from "./other-tenant.ts";
import type { ReplySpec, Route } from "./route.ts";

/** Objects that the HTTP API does not return. */
const unusedObjects: ReadonlySet<string> = new Set(["tool_run", "session_detail"]);

const ofAdmins = z.object({ namespace: namespaceQuery });

/** The names of wire objects in the document: `run_event` is RunEvent. */
const components = new Map<z.ZodType, string>(
  Object.entries(wireSchemas)
    .filter(([name]) => !unusedObjects.has(name))
    .map(([name, schema]) => [schema, name.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())]),
);

/** The OpenAPI 3.1 document of the routes, from the same schemas that validate their calls. */
export function openApiDocument(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = route.path.replace("...}", "}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) };
  }
  const schemas = [...components].map(([schema, name]) => [name, jsonSchema(schema, "output")]);
  return {
    openapi: "3.1.0",
    info: {
      title: "codecell",
      version,
      description: "Run untrusted code in persistent sessions under one policy.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ token: [] }],
    paths,
    components: {
      schemas: Object.fromEntries(schemas),
      securitySchemes: {
        token: { type: "http", scheme: "bearer", description: "create one with `codecell token create`" },
      },
    },
  };
}

function operation(route: Route): object {
  const { id, summary, description, tag, scope, params, query, headers, body, takesBytes, replies } = route;
  const answers = Object.entries(replies).map(([status, reply]) => [status, answer(reply)]);
  return {
    operationId: id,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [tag],
    ...(scope === "none" ? { security: [] } : { "x-codecell-scope": scope }),
    parameters: [
      ...parametersOf(params, "path"),
      ...parametersOf(query, "query"),
      ...parametersOf(takesNamespace(route) ? ofAdmins : undefined, "query"),
      ...parametersOf(headers, "header"),
    ],
    ...(body ? { requestBody: { required: true, content: json(jsonSchema(body, "input")) } } : {}),
    ...(takesBytes ? { requestBody: { required: true, content: { "application/octet-stream": {} } } } : {}),
    responses: {
      ...Object.fromEntries(answers),
      default: { description: "the error", content: json(reference(errorSchema)) },
    },
  };
}

function answer({ description, schema, contentType }: ReplySpec): object {
  if (schema) return { description, content: json(reference(schema)) };
  return contentType === undefined ? { description } : { description, content: { [contentType]: {} } };
}

function json(schema: object): object {
  return { "application/json": { schema } };
}

/** A reference if the schema has a name in the document, otherwise the schema itself. */
function reference(schema: z.ZodType): object {
  const name = components.get(schema);
  return name === undefined ? jsonSchema(schema, "output") : { $ref: `#/components/schemas/${name}` };
}

function parametersOf(schema: z.ZodObject | undefined, where: "path" | "query" | "header"): object[] {
  return Object.entries(schema?.shape ?? {}).map(([name, field]) => {
    const { description, ...rest } = jsonSchema(field as z.ZodType, "input") as { description?: string };
    const required = where === "path";
    return { name, in: where, required, ...(description === undefined ? {} : { description }), schema: rest };
  });
}

function jsonSchema(schema: z.ZodType, io: "input" | "output"): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
}
