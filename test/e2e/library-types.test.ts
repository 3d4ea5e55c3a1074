import { readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { describe, expect, test } from "vitest";
import { root } from "./codecell-process.ts";

const declarationHead = /^export (?:declare )?(?:async )?(?:function|class|interface|type|const) (\w+)/gm;
const exported = await publicNames();

describe("the public types", () => {
  test("of the main entry point are at most 52 names", () => {
    const names = exported.filter(({ path }) => path === ".");
    expect(names.length).toBeGreaterThan(40);
    expect(names.length).toBeLessThanOrEqual(52);
  });

  test("have a comment on every name", async () => {
    const silent = await namesThat(({ text, start }) => !/\*\/\s*$/.test(text.slice(0, start)));
    expect(silent).toEqual([]);
  });

  test("use only types that are exported too", async () => {
    const known = new Set(exported.map(({ name }) => name));
    const declarations = await Promise.all(exported.map(declarationOf));
    const unnamed = exported.flatMap(({ path, name }, at) => {
      const { body = "", reachable = new Set() } = declarations[at] ?? {};
      const lacking = [...new Set(typesIn(body))].filter((type) => reachable.has(type) && !known.has(type));
      return lacking.map((type) => `${path} ${name} is made of ${type}`);
    });
    expect(unnamed).toEqual([]);
  });
});

/** Every exported name of every export path, with the file that declares it. */
async function publicNames(): Promise<PublicName[]> {
  const { exports } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const entries = Object.entries<{ types?: string }>(exports).flatMap(([path, { types }]) =>
    types ? { path, types } : [],
  );
  return (await Promise.all(entries.map(namesIn))).flat();
}

async function namesIn({ path, types }: { path: string; types: string }): Promise<PublicName[]> {
  const text = await readFile(join(root, types), "utf8");
  const passedOn = [...text.matchAll(/export (?:type )?\{([^}]*)\} from "([^"]+)\.ts"/g)].flatMap(
    ([, names = "", module = ""]) =>
      [...names.matchAll(/(?:type )?(\w+)\s*(?:,|$)/g)].map(([, name = ""]) => ({
        ...{ path, name, module: posix.join(posix.dirname(types), module) },
      })),
  );
  const own = [...text.matchAll(declarationHead)].map(([, name = ""]) => ({
    ...{ path, name, module: types.replace(/\.d\.ts$/, "") },
  }));
  return [...passedOn, ...own];
}

async function namesThat(lack: (declaration: Declaration) => boolean): Promise<string[]> {
  const declarations = await Promise.all(exported.map(declarationOf));
  return exported.filter((_, at) => lack(declarations[at] as Declaration)).map(({ path, name }) => `${path} ${name}`);
}

function typesIn(declaration: string): string[] {
  return declaration.replace(/\/\*[\s\S]*?\*\//g, "").match(/\b[A-Z]\w+\b/g) ?? [];
}

interface PublicName {
  /** the export path, such as `./mcp` */
  readonly path: string;
  readonly name: string;
  /** relative to the package's root, without extension */
  readonly module: string;
}

interface Declaration {
  /** of the whole file */
  readonly text: string;
  readonly start: number;
  readonly body: string;
  /** types of this package that the file declares or imports */
  readonly reachable: ReadonlySet<string>;
}

async function declarationOf({ name, module }: PublicName): Promise<Declaration> {
  const text = await readFile(join(root, `${module}.d.ts`), "utf8");
  const heads = [...text.matchAll(declarationHead)];
  const at = heads.findIndex((head) => head[1] === name);
  const start = heads[at]?.index ?? Number.NaN;
  expect(start, `${name} stands in ${module}`).not.toBeNaN();
  const body = text.slice(start, heads[at + 1]?.index);
  const imports = [...text.matchAll(/import (?:type )?\{([^}]*)\} from "\.[^"]+"/g)].map((match) => match[1] ?? "");
  const declared = heads.map((head) => head[1] ?? "");
  const reachable = new Set([...(imports.join().match(/\w+/g) ?? []), ...declared]);
  return { text, start, body, reachable };
}
