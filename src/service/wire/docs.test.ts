import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { fieldTable } from "../../../test/support/wire-tables.ts";
import { wireNames, wireSchemas } from "./schemas.ts";

const page = readFileSync(new URL("../../../docs/wire.md", import.meta.url), "utf8");
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf("\n")), text]),
);

describe.each(wireNames)("the section %s of docs/wire.md", (name) => {
  const section = sections.get(name) ?? "";

  test("describes every field with the text of the schema", () => expect(section).toContain(fieldTable(name)));

  test("has examples that match the schema", () => {
    const examples = [...section.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text]) => JSON.parse(text ?? ""));
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) expect(wireSchemas[name].parse(example)).toEqual(example);
  });
});

test("every field of the wire format is in snake case", () => {
  const paths = wireNames.flatMap((name) =>
    [...fieldTable(name).matchAll(/^\| `([^`]+)`/gm)].map(([, path = ""]) => path),
  );
  expect(paths.length).toBeGreaterThan(150);
  for (const name of paths.flatMap((path) => path.split(/[.[\]]+/))) expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
});
