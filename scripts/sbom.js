// npm run sbom: writes sbom.cdx.json, the software bill of materials (CycloneDX 1.6) of what an installed codecell consists of.
// It is made from the lock file alone, so the same lock file gives the same bytes. A test fails while the stored one is stale.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = new URL("../", import.meta.url);
export const sbomFile = new URL("sbom.cdx.json", root);

const readJson = (name) => JSON.parse(readFileSync(new URL(name, root), "utf8"));

/** What the dashboard imports. A build puts their code into the package, although they are not installed with it. */
export const pagePackages = ["preact", "@preact/signals", "uplot", "@codemirror/state", "@codemirror/view"];

/**
 * Pure: every package that comes with codecell, with its hash, its licence and what it depends on.
 * @param {{ packages: Record<string, any> }} lock
 */
export function sbomOf(lock) {
  const { "": own, ...others } = lock.packages;
  const inPage = withDependencies(pagePackages, others);
  const runtime = Object.entries(others).filter(
    ([path, { dev, devOptional, link }]) => (!dev && !devOptional && !link) || inPage.has(path),
  );
  const version = (name) => others[`node_modules/${name}`]?.version;
  const ref = (name) => `pkg:npm/${name.replace("@", "%40")}@${version(name)}`;
  const dependsOn = (names) => names.filter((name) => version(name) !== undefined).map(ref);
  const components = runtime.map(([path, { version, integrity = "", license = "" }]) => {
    const name = path.slice("node_modules/".length);
    if (name.includes("node_modules/")) throw new Error(`${path}: two versions of one package need a reference each`);
    const [algorithm, digest = ""] = integrity.split("-");
    const [group, short] = name.startsWith("@") ? name.split("/") : [undefined, name];
    return {
      type: "library",
      "bom-ref": ref(name),
      ...(group ? { group } : {}),
      ...{ name: short, version, purl: ref(name) },
      hashes: [{ alg: algorithm.replace("sha", "SHA-"), content: Buffer.from(digest, "base64").toString("hex") }],
      licenses: [{ license: { id: license } }],
    };
  });
  const self = `pkg:npm/${own.name}@${own.version}`;
  return {
    ...{
      $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
      bomFormat: "CycloneDX",
      specVersion: "1.6",
      version: 1,
    },
    metadata: {
      component: {
        ...{ type: "application", "bom-ref": self, name: own.name, version: own.version, purl: self },
        licenses: [{ license: { id: own.license } }],
      },
    },
    components,
    dependencies: [
      { ref: self, dependsOn: dependsOn(Object.keys(own.dependencies ?? {})) },
      ...runtime.map(([path, { dependencies = {} }]) => ({
        ref: ref(path.slice("node_modules/".length)),
        dependsOn: dependsOn(Object.keys(dependencies)),
      })),
    ],
  };
}

/** The paths in the lock file of some packages and of everything that they depend on. */
function withDependencies(names, packages) {
  const found = new Set();
  const waiting = [...names];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const path = `node_modules/${name}`;
    if (found.has(path) || packages[path] === undefined) continue;
    found.add(path);
    waiting.push(...Object.keys(packages[path].dependencies ?? {}));
  }
  return found;
}

/** The text of the file, for the lock file as it is now. */
export function sbomText() {
  return `${JSON.stringify(sbomOf(readJson("package-lock.json")), null, 2)}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(sbomFile, sbomText());
  console.log("wrote sbom.cdx.json");
}
