import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
// @ts-expect-error a script without types
import { pagePackages, sbomOf, sbomText } from "../scripts/sbom.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (file: string) => readFileSync(join(root, file), "utf8");
const left = new Set(["node_modules", "dist", ".git", "__pycache__"]);
const files = filesBelow("").sort();
const named = (pattern: RegExp) => files.filter((file) => pattern.test(file));

interface LockEntry {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly license?: string;
  readonly hasInstallScript?: boolean;
}

const locks = named(/(?:^|\/)package-lock\.json$/);
const entriesOf = (file: string) =>
  Object.entries((JSON.parse(read(file)) as { packages: Record<string, LockEntry> }).packages).filter(
    ([path, { link }]) => path !== "" && !link,
  );

/**
 * Programs of our build tools for other systems, which the registry of this project's machine does not carry. They are of no
 * part of an installed codecell. `npm run lock:integrity`, with a registry that has them, fills them in.
 */
const withoutHash =
  /^node_modules\/(?:@biomejs\/cli|@rolldown\/binding)-(?:android|darwin|freebsd|linux|openharmony|wasm32|win32)-/;
const mostWithoutHash: Readonly<Record<string, number>> = {
  "package-lock.json": 23,
  "test/clients/package-lock.json": 15,
};

describe("lock files", () => {
  test("there is one for every folder that is installed", () => {
    expect(locks).toEqual(["package-lock.json", "test/clients/package-lock.json"]);
  });

  test.each(locks)("%s has a strong hash for every entry, except for build tools of other systems", (file) => {
    const missing = entriesOf(file).filter(
      ([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ""),
    );
    const unexplained = missing.filter(([path, { optional }]) => !(withoutHash.test(path) && optional));
    expect(unexplained.map(([path]) => path)).toEqual([]);
    expect(missing.length).toBeLessThanOrEqual(mostWithoutHash[file] ?? 0);
  });

  test("everything that an installed codecell consists of has a hash", () => {
    const runtime = entriesOf("package-lock.json").filter(([, { dev }]) => !dev);
    expect(runtime.length).toBeGreaterThan(5);
    expect(runtime.filter(([, { integrity }]) => integrity === undefined)).toEqual([]);
  });

  test.each(locks)("%s names no registry, so that every machine uses its own", (file) => {
    expect(entriesOf(file).filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
    expect(read(file)).not.toMatch(/registry\./);
  });
});

describe("versions", () => {
  test.each(named(/(?:^|\/)package\.json$/))("%s asks for exact versions", (file) => {
    const { dependencies = {}, devDependencies = {}, optionalDependencies = {} } = JSON.parse(read(file));
    const wanted = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies }) as [
      string,
      string,
    ][];
    expect(wanted.filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?$/.test(version))).toEqual([]);
  });

  test.each(named(/(?:^|\/)pyproject\.toml$/))("%s needs no other package at run time", (file) => {
    expect(read(file)).toMatch(/^dependencies = \[\]$/m);
  });
});

describe("install scripts", () => {
  // The attack: a package that runs its own code on the machine that installs it, before anybody could look at it.
  test("no dependency of codecell or of its build has one", () => {
    expect(entriesOf("package-lock.json").filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
  });

  test("of the clients that tests use only one has one", () => {
    const scripted = entriesOf("test/clients/package-lock.json").filter(([, { hasInstallScript }]) => hasInstallScript);
    expect(scripted.map(([path]) => path)).toEqual(["node_modules/@modelcontextprotocol/inspector"]);
  });

  test("and it never runs: wherever the clients are installed, scripts are off", () => {
    const installing = named(/\.(?:sh|js|ts|md|yml|json)$|^\.ci\//).flatMap((file) =>
      [
        ...read(file)
          .replaceAll(/\\?\n/g, " ")
          .matchAll(/npm (?:ci|install)\s[^&|;`]*test\/clients[^&|;`]*/g),
      ].map(([command]) => ({ file, command })),
    );
    expect(installing.length).toBeGreaterThan(1);
    expect(installing.filter(({ command }) => !command.includes("--ignore-scripts"))).toEqual([]);
  });
});

describe("the software bill of materials", () => {
  const { components } = JSON.parse(read("sbom.cdx.json")) as {
    components: { name: string; group?: string; version: string; hashes: { content: string }[]; licenses: object[] }[];
  };

  test("is up to date: if this fails, run `npm run sbom`", () => {
    expect(read("sbom.cdx.json")).toBe(sbomText());
  });

  test("knows every package whose code a build puts into the dashboard", () => {
    const sources = named(/^dashboard\/src\/.*\.tsx?$/).filter((file) => !file.includes(".test."));
    const imports = sources.flatMap((file) => [...read(file).matchAll(/(?:from|import\()\s*"([^."][^"]*)"/g)]);
    const packages = imports.map(([, name = ""]) => name.split("/", name.startsWith("@") ? 2 : 1).join("/"));
    expect([...new Set(packages)].sort()).toEqual([...pagePackages].sort());
  });

  test("names every runtime dependency with its hash and its licence, and nothing else", () => {
    const isInPage = (path: string) => components.some((one) => `node_modules/${nameOf(one)}` === path);
    const nameOf = ({ group, name }: { group?: string; name: string }) => (group ? `${group}/${name}` : name);
    const runtime = entriesOf("package-lock.json").filter(([path, { dev }]) => !dev || isInPage(path));
    expect(components.map(nameOf)).toEqual(runtime.map(([path]) => path.replace("node_modules/", "")));
    for (const [path, { version, integrity, license }] of runtime) {
      const found = components.find((one) => `node_modules/${nameOf(one)}` === path);
      const content = Buffer.from(integrity?.split("-")[1] ?? "", "base64").toString("hex");
      expect([path, found?.version, found?.hashes[0]?.content]).toEqual([path, version, content]);
      expect([path, found?.licenses]).toEqual([path, [{ license: { id: license } }]]);
      expect(license).toMatch(/^[A-Za-z0-9.-]+$/);
    }
  });

  test("changes with the lock file", () => {
    const lock = JSON.parse(read("package-lock.json"));
    lock.packages["node_modules/added"] = { version: "1.0.0", integrity: "sha512-AAAA", license: "MIT" };
    expect(JSON.stringify(sbomOf(lock))).toContain("pkg:npm/added@1.0.0");
  });

  test("is part of the package", () => {
    expect(JSON.parse(read("package.json")).files).toContain("sbom.cdx.json");
  });
});

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !left.has(name))
    .flatMap((entry) => {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      return entry.isDirectory() ? filesBelow(path) : entry.isFile() ? [path] : [];
    });
}
