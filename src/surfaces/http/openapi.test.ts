import { expect, test } from "vitest";
import { openApiDocument } from "./openapi.ts";
import { routes } from "./routes.ts";

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly { name: string; in: string; schema: object }[];
  readonly responses: Record<string, { content?: Record<string, { schema?: { $ref?: string } }> }>;
}
interface Document {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, object> };
}
const document = openApiDocument(routes, "1.2.3") as Document;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.values(methods).map((operation) => ({ path, operation })),
);

test("the OpenAPI document describes every route once, with a unique id", () => {
  expect(document.openapi).toBe("3.1.0");
  expect(operations.length).toBe(routes.length);
  expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(routes.length);
});

test.each(operations)("the OpenAPI document has a parameter for every name in $path", ({ path, operation }) => {
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  expect(operation.parameters.filter((one) => one.in === "path").map(({ name }) => name)).toEqual(named);
});

test("the OpenAPI document references only schemas that it contains", () => {
  const references = JSON.stringify(document).match(/"#\/components\/schemas\/\w+"/g) ?? [];
  expect(references.length).toBeGreaterThan(10);
  for (const reference of references) {
    expect(Object.keys(document.components.schemas)).toContain(JSON.parse(reference).split("/").at(-1));
  }
});

test("the OpenAPI document is JSON and the same on every call", () => {
  expect(JSON.parse(JSON.stringify(document))).toEqual(openApiDocument(routes, "1.2.3"));
});
