import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { newStateDir, removeStateDir } from "../support/managers.ts";
import { skipsProcess } from "../support/process-cells.ts";

const script = fileURLToPath(new URL("few-descriptors-host.mjs", import.meta.url));

test.skipIf(skipsProcess).each(["template", "direct"])(
  "a host without file descriptors refuses a new session with a reason, and keeps the others (layout %s)",
  async (layout) => {
    const stateDir = await newStateDir();
    const runtimeDir = await newStateDir();
    try {
      const limited = `ulimit -n 90; exec "$0" "$@"`;
      const argv = ["-c", limited, process.execPath, script, stateDir, runtimeDir, layout];
      const { stdout } = await promisify(execFile)("sh", argv, { timeout: 120_000 });
      const [opening, during, after] = stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(opening.opened).toBeGreaterThan(0);
      expect(opening.failure).toMatchObject({ name: "CodecellError", code: expect.any(String) });
      expect(`${opening.failure.message} ${opening.failure.hint}`).toMatch(/file descriptors|open files/);
      expect(during).toEqual({ during: "42", notes: [] });
      expect(after).toEqual({ again: "4", first: "41" });
    } finally {
      await removeStateDir(stateDir);
      await removeStateDir(runtimeDir);
    }
  },
);
