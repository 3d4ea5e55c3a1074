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

test("describes every route once, by an id of its own", () => {
  expect(document.openapi).toBe("3.1.0");
  expect(operations.length).toBe(routes.length);
  expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(routes.length);
});

test.each(operations)("$path has a parameter for every name in its path", ({ path, operation }) => {
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  expect(operation.parameters.filter((one) => one.in === "path").map(({ name }) => name)).toEqual(named);
});

test("points only to schemas that it has", () => {
  const references = JSON.stringify(document).match(/"#\/components\/schemas\/\w+"/g) ?? [];
  expect(references.length).toBeGreaterThan(10);
  for (const reference of references) {
    expect(Object.keys(document.components.schemas)).toContain(JSON.parse(reference).split("/").at(-1));
  }
});

test("is JSON and stays the same from call to call", () => {
  expect(JSON.parse(JSON.stringify(document))).toEqual(openApiDocument(routes, "1.2.3"));
});
