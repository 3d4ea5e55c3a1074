import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parsePolicyText } from "../src/policy/file/parse-policy-text.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const readme = readFileSync(join(root, "README.md"), "utf8");

describe("the README", () => {
  test("shows the two commands that CI runs on a bare machine", () => {
    expect(readme).toMatch(/^npm ci && npm run demo$/m);
    expect(readme).toContain("`npm ci && npm test`");
  });

  test("has a valid example policy that differs from the default", () => {
    const [, yaml = ""] = /^```yaml\n([\s\S]*?)^```$/m.exec(readme) ?? [];
    const policy = parsePolicyText(yaml, { file: "README.md", baseDir: root });
    expect(policy.proc.timeoutMs).toBe(120_000);
    expect(policy.net.enabled).toBe(true);
    expect(Object.keys(policy.net.secrets)).toEqual(["API_TOKEN"]);
  });

  test("fills every cell of the comparison table", () => {
    const [, table = ""] = /## How it compares\n\n((?:\|.*\n)+)/.exec(readme) ?? [];
    const rows = table
      .trim()
      .split("\n")
      .map((row) =>
        row
          .split("|")
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );
    expect(rows[0]).toEqual(["", "codecell", "E2B", "Daytona", "sandbox-runtime", "`docker run`", "mcp-repl"]);
    const gaps = rows.slice(2).filter((cells) => cells.length !== 7 || cells.includes(""));
    expect(gaps).toEqual([]);
  });

  test("has at most 220 lines", () => {
    expect(readme.split("\n").length).toBeLessThanOrEqual(220);
  });
});
