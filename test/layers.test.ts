import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

/** Imports point down. A folder may import itself and the folders listed here; `index.ts` may import everything. */
const mayImport: Record<string, readonly string[]> = {
  lib: [],
  policy: ["lib"],
  audit: ["lib"],
  store: ["lib"],
  llm: ["lib", "policy"],
  kernel: ["lib", "policy"],
  artifacts: ["lib", "policy"],
  egress: ["lib", "policy"],
  packages: ["lib", "policy"],
  runners: ["lib", "policy", "kernel"],
  sessions: ["lib", "policy", "kernel", "runners", "artifacts", "audit", "egress", "packages", "store"],
  attacks: ["lib", "policy", "kernel", "runners", "egress", "sessions"],
  rlm: ["lib", "policy", "llm", "audit", "sessions"],
  service: ["lib", "policy", "audit", "store", "artifacts", "sessions", "rlm"],
  surfaces: ["lib", "policy", "packages", "store", "sessions", "service", "attacks"],
  // types only: at run time the client imports nothing but itself and pure files of lib (src/client/bundle.test.ts)
  client: ["lib", "policy", "sessions", "service", "kernel", "artifacts", "runners", "audit"],
};

const source = fileURLToPath(new URL("../src", import.meta.url));
const files = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts") && name.includes(sep))
  .map((name) => join(source, name));

function importedLayers(file: string): { layer: string; specifier: string }[] {
  const specifiers = [...readFileSync(file, "utf8").matchAll(/\b(?:from|import|import\()\s*"(\.[^"]+)"/g)].map(
    (match) => match[1] ?? "",
  );
  return specifiers.map((specifier) => {
    const target = relative(source, join(file, "..", specifier));
    return { layer: target.split(sep)[0] ?? "", specifier };
  });
}

describe("layers", () => {
  test("every folder of src has a row in the table", () => {
    const folders = new Set(files.map((file) => relative(source, file).split(sep)[0]));
    expect([...folders].sort()).toEqual(Object.keys(mayImport).sort());
  });

  test.each(files.map((file) => [relative(source, file), file]))("%s imports only from lower layers", (name, file) => {
    const own = name.split(sep)[0] ?? "";
    const allowed = [own, ...(mayImport[own] ?? [])];
    const isTest = name.endsWith(".test.ts");
    const wrong = importedLayers(file).filter(({ layer }) => !allowed.includes(layer) && !(isTest && layer === ".."));
    expect(wrong).toEqual([]);
  });

  test("surfaces do not import each other, except that the CLI starts the others", () => {
    const mayStart: Record<string, readonly string[]> = { cli: ["http", "mcp"] };
    const surfaceFiles = files.filter((file) => relative(source, file).startsWith(`surfaces${sep}`));
    const wrong = surfaceFiles.flatMap((file) => {
      const [, own = ""] = relative(source, file).split(sep);
      const allowed = [own, ...(mayStart[own] ?? [])];
      return importedLayers(file)
        .map(({ specifier }) => relative(source, join(file, "..", specifier)).split(sep))
        .filter(([layer, surface = ""]) => layer === "surfaces" && !allowed.includes(surface))
        .map((target) => `${relative(source, file)} → ${target.join(sep)}`);
    });
    expect(wrong).toEqual([]);
  });

  test("only the MCP surface imports the MCP SDK", () => {
    const importers = files.filter(
      (file) => !file.endsWith(".test.ts") && /from "@modelcontextprotocol\//.test(readFileSync(file, "utf8")),
    );
    const folders = importers.map((file) => relative(source, join(file, "..")));
    expect([...new Set(folders)]).toEqual([join("surfaces", "mcp")]);
  });

  test("runners do not import each other, except for shared files", () => {
    const runnerFiles = files.filter((file) => relative(source, file).startsWith(`runners${sep}`));
    const wrong = runnerFiles.flatMap((file) => {
      const own = relative(join(source, "runners"), file).split(sep)[0] ?? "";
      if (own.endsWith(".ts")) return [];
      return importedLayers(file)
        .map(({ specifier }) => relative(join(source, "runners"), join(file, "..", specifier)))
        .filter(
          (target) =>
            !target.startsWith("..") &&
            target.includes(sep) &&
            ![own, "linux", "images"].includes(target.split(sep)[0] ?? ""),
        )
        .map((target) => `${relative(source, file)} → ${target}`);
    });
    expect(wrong).toEqual([]);
  });

  test("the dashboard imports only types of the wire format and of routes, and nothing imports the dashboard", () => {
    const page = fileURLToPath(new URL("../dashboard/src", import.meta.url));
    const sources = readdirSync(page, { recursive: true, encoding: "utf8" }).filter((name) =>
      /(?<!\.test)\.tsx?$/.test(name),
    );
    const wrong = sources.flatMap((name) => {
      const text = readFileSync(join(page, name), "utf8");
      const imports = [...text.matchAll(/^import (type )?[^;]*?"([^"]*\/src\/[^"]*)"/gm)];
      return imports
        .filter(([, type, path]) => !type || !/\/src\/(?:service\/wire|surfaces\/http)\//.test(path ?? ""))
        .map(([all]) => all);
    });
    expect(wrong).toEqual([]);
    expect(files.filter((file) => /from "[^"]*dashboard\/src/.test(readFileSync(file, "utf8")))).toEqual([]);
  });
});
