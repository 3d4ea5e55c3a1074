import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { attacks } from "../src/attacks/catalogue/index.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const textOf = (name: string) => readFileSync(join(root, name), "utf8");

test("the tables of SECURITY.md are those of the attack suite and of security-vectors.json", async () => {
  // plain JavaScript, because the build runs it too
  const { withTables } = (await import("../scripts/security-table.js" as string)) as {
    withTables: (page: string, all: typeof attacks, vectors: unknown) => string;
  };
  const page = textOf("SECURITY.md");
  const fresh = withTables(page, attacks, JSON.parse(textOf("scripts/security-vectors.json")));
  expect(page === fresh, "run `npm run build && node scripts/security-table.js`").toBe(true);
});
