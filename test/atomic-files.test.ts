import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const source = fileURLToPath(new URL("../src", import.meta.url));
/** It changes a directory of its own, before it writes. */
const allowed = [join("surfaces", "cli", "setup", "srt-settings-file.ts")];

/** The attack: who may write the directory puts a link to another file of ours in the place of the one that was just written. */
test("who replaces a file atomically does not change permissions by path afterwards", () => {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) =>
    /(?<!\.test)\.ts$/.test(file),
  );
  const writers = files.filter((file) => /import .*writeFileAtomically/.test(readFileSync(join(source, file), "utf8")));
  expect(writers.length).toBeGreaterThan(10);
  const wrong = writers.filter((file) =>
    /\b(?:chmod|chown|utimes)\b.*"node:fs/.test(readFileSync(join(source, file), "utf8")),
  );
  expect(wrong).toEqual(allowed);
});
