import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { routes } from "./routes.ts";

test("docs/http.md has one row for every route, with the scope it requires", () => {
  const page = readFileSync(new URL("../../../docs/http.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `([A-Z]+ \/\S+)` \| (\w+) \|/gm)].map(([, call, scope]) => `${call} ${scope}`);
  const known = routes.map(({ method, path, scope }) => `${method} ${path.replace("...}", "}")} ${scope}`);
  expect(rows).toEqual(known);
});
