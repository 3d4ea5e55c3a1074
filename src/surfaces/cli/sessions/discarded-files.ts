import { quotedName } from "../../../lib/quoted-name.ts";
import type { Policy } from "../../../policy/schema.ts";
import type { RunResult } from "../../../sessions/runs/run.ts";
import { plural } from "../format/text/plural.ts";

const maxNamed = 3;

/** A hint for a program whose files end with its cell: a program that saved a result has not kept it. */
export function discardedHint(
  { artifacts, discarded = [] }: Pick<RunResult, "artifacts" | "discarded">,
  { fs }: Pick<Policy, "fs">,
): string | undefined {
  if (fs.workspace !== undefined) return undefined;
  const names = [...artifacts.map(({ name }) => name), ...discarded].filter((name) => !name.includes("__pycache__/"));
  if (names.length === 0) return undefined;
  const named = names.slice(0, maxNamed).map((name) => quotedName(name));
  const more = names.length - named.length;
  const list = `${named.join(", ")}${more > 0 ? ` and ${plural(more, "other file")}` : ""}`;
  const what = names.length === 1 ? "file was" : "files were";
  return `the program's ${what} removed with its cell: ${list}. To keep files, use --session NAME or --workspace DIR`;
}
