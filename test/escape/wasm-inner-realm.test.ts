import { execFile } from "node:child_process";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cellCommand } from "../../src/runners/wasm/command.ts";
import { findPackageFiles } from "../../src/runners/wasm/package-files.ts";
import { prepareRuntimeDirectory } from "../../src/runners/wasm/runtime-directory.ts";

interface Report {
  readonly found: readonly string[];
  readonly tried: readonly string[];
  readonly isOuterClean: boolean;
  readonly sent: readonly string[];
}

const canary = "CANARY_OF_THE_OUTER_REALM";

describe("an attacker with full JavaScript in the WASM runner's empty context", () => {
  let root = "";
  let report: Report;
  let printed = "";

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "codecell-inner-realm-"));
    printed = await attack(root);
    report = parse(printed);
  }, 120_000);

  afterAll(() => rm(root, { recursive: true, force: true }));

  test("finds no object of the outer realm through any call, error, hook or property", () => {
    expect(report.found).toEqual([]);
  });

  test("ran every attempt, so an empty list of findings means something", () => {
    expect(report.tried.length).toBeGreaterThan(250);
    expect(report.tried).toContain("literal import()");
  });

  test("changes nothing in the outer realm", () => {
    expect(report.isOuterClean).toBe(true);
  });

  test("sees nothing of the process environment", () => {
    expect(printed).not.toContain(canary);
  });
});

/** Runs the attack with a cell's flags but without bubblewrap: the inner boundary must hold alone. */
async function attack(root: string): Promise<string> {
  const files = findPackageFiles();
  if ("missing" in files) throw new Error(`${files.missing}: ${files.hint}`);
  const runtime = await prepareRuntimeDirectory(root, files);
  for (const name of ["attack.js", "attack-thread.js", "attack-main.js"]) {
    await copyFile(new URL(`./wasm-inner-realm/${name}`, import.meta.url), join(runtime, "guest", name));
  }
  const command = cellCommand({
    node: process.execPath,
    runtime,
    entry: "attack-main.js",
    entryArguments: [],
    bubblewrap: undefined,
    dataBytes: undefined,
  });
  const options = { env: { SECRET: canary }, timeout: 110_000, maxBuffer: 64 * 2 ** 20 };
  const { stdout } = await promisify(execFile)(command.program, [...command.arguments], options);
  return stdout;
}

function parse(text: string): Report {
  const { report, isOuterClean, sent } = JSON.parse(text) as { report: string; isOuterClean: boolean; sent: string[] };
  const lines = report.split("\n").map((line) => line.split("\t"));
  const of = (kind: string) => lines.filter(([name]) => name === kind).map(([, what]) => what ?? "");
  return { found: of("found"), tried: of("tried"), isOuterClean, sent };
}
