import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { packageRoot } from "../../src/lib/files/package-root.ts";

// biome-ignore lint/suspicious/noExplicitAny: settings of compose files
export type ComposeSettings = Record<string, any>;

/** The settings of the service of these files, merged as Docker Compose does it. */
export function composeSettings(files: readonly string[]): ComposeSettings {
  return files
    .map((path) => parse(readFileSync(join(packageRoot(), path), "utf8")).services.codecell as ComposeSettings)
    .reduce(merged);
}

/** Lists are joined, and Compose refuses an entry that is there twice. A command is replaced. */
function merged(one: ComposeSettings, other: ComposeSettings): ComposeSettings {
  const all = { ...one, ...other };
  for (const [name, value] of Object.entries(other)) {
    if (name === "command" || !Array.isArray(value) || !Array.isArray(one[name])) continue;
    all[name] = [...one[name], ...value];
    const twice = all[name].filter((entry: unknown, index: number) => all[name].indexOf(entry) !== index);
    if (twice.length > 0) throw new Error(`Compose refuses ${name}: ${twice.join(", ")} is there twice`);
  }
  return all;
}
