import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
// @ts-expect-error a script without types
import { chooseParts, parts } from "../scripts/verify/parts.js";
// @ts-expect-error a script without types
import { exitCodeOf, reportOf, reportText } from "../scripts/verify/report.js";
// @ts-expect-error a script without types
import { runCommand, runPart } from "../scripts/verify/run-part.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const facts = { version: "1.2.3", node: "v20", platform: "linux", at: "2026-01-01T00:00:00.000Z" };
const all = [{ name: "a" }, { name: "b" }];
const row = (name: string, status = "passed", detail = "") => ({
  ...{ name, status, detail, asks: `${name}?`, command: `run ${name}`, seconds: 1.5 },
});

describe("the report of a release", () => {
  test("passes only if every part was asked and passed", () => {
    expect(reportOf([row("a"), row("b")], { all, ...facts })).toMatchObject({
      verdict: "passed",
      seconds: 3,
      notAsked: [],
    });
    expect(reportOf([row("a")], { all, ...facts })).toMatchObject({ verdict: "partial", notAsked: ["b"] });
    expect(reportOf([], { all, ...facts })).toMatchObject({ verdict: "failed" });
  });

  test.each(["failed", "timed out", "missing"])("fails, with an exit code, if a part is %s", (status) => {
    const report = reportOf([row("a"), row("b", status, "its last words")], { all, ...facts });
    expect([report.verdict, exitCodeOf(report)]).toEqual(["failed", 1]);
    expect(reportText(report)).toContain(`b ${status}: run b\nits last words`);
  });

  test("names each part with its time and its question, and those that were not asked", () => {
    const text = reportText(reportOf([row("a")], { all, ...facts }));
    expect(text).toMatch(/^codecell 1\.2\.3: partial in 1\.5 s\npassed +a +1\.5 s {2}a\?\nnot asked: b$/);
    expect(exitCodeOf(reportOf([row("a")], { all, ...facts }))).toBe(0);
  });
});

describe("the choice of parts", () => {
  const names = (words: string[]) => chooseParts(words).chosen?.map(({ name }: { name: string }) => name);

  test("is all of them, or those that --only names, always in the same order", () => {
    expect(names([])).toEqual(["docs", "attacks", "fuzz", "tests", "bench"]);
    expect(names(["--only", "bench,fuzz"])).toEqual(["fuzz", "bench"]);
    expect(chooseParts(["--report", "x.json"]).file).toBe("x.json");
  });

  test.each([[["--only", "fuz"]], [["--only"]], [["--fast", "1"]]])("%j is refused with a reason", (words) => {
    expect(chooseParts(words).problem).toMatch(/unknown part fuz; use|needs a value|unknown option/);
  });
});

describe("a part", () => {
  const part = { name: "a", asks: "a?", command: ["x", "y"], limitSeconds: 5 };
  const answers = (...given: object[]) => {
    const asked: string[][] = [];
    const run = async (command: string[]) => {
      asked.push(command);
      return { code: 0, isLate: false, output: "", ...given[asked.length - 1] };
    };
    return { run, asked };
  };

  test("passes with exit code 0 and keeps the end of its output otherwise", async () => {
    expect(await runPart(part, { cwd: ".", ...answers({}) })).toMatchObject({ status: "passed", detail: "" });
    const failed = await runPart(part, { cwd: ".", ...answers({ code: 3, output: "one\ntwo\n" }) });
    expect(failed).toMatchObject({ status: "failed", detail: "it exited with 3\none\ntwo", command: "x y" });
    expect(await runPart(part, { cwd: ".", ...answers({ code: null, isLate: true }) })).toMatchObject({
      status: "timed out",
    });
  });

  test("is missing, and is not run, if the program's help does not name what it needs", async () => {
    const needing = { ...part, needs: { help: ["x", "--help"], text: "--attack" } };
    const without = answers({ output: "no such option" });
    expect(await runPart(needing, { cwd: ".", ...without })).toMatchObject({ status: "missing" });
    expect(without.asked).toEqual([["x", "--help"]]);
    const having = answers({ output: "  --attack  runs attacks" }, { code: 1 });
    expect(await runPart(needing, { cwd: ".", ...having })).toMatchObject({ status: "failed" });
  });

  test("that takes longer than its limit is ended with the processes that it started", async () => {
    const script = "require('child_process').spawn('sleep', ['60'], { stdio: 'inherit' }); setInterval(() => {}, 1000)";
    const ended = await runCommand(["node", "-e", script], { cwd: root, limitSeconds: 0.3 });
    // its output closes only when nobody holds it any more
    expect(ended).toMatchObject({ isLate: true });
  });

  test("runs a script that exists", () => {
    const scripts = parts.flatMap(({ command }: { command: string[] }) =>
      command.filter((word) => /\.(?:m?js|sh)$/.test(word)),
    );
    expect(scripts.filter((file: string) => !existsSync(join(root, file)))).toEqual([]);
    expect(readFileSync(join(root, "docs/release.md"), "utf8")).toContain("npm run verify");
  });
});
