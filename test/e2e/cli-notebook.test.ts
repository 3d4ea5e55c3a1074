import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codecellHere } from "./codecell-here.ts";
import { availableRunners, CodecellProcess, codecell, launcher } from "./codecell-process.ts";

const python = "/usr/bin/python3";
const run = promisify(execFile);
const hasNbformat = await run(python, ["-c", "import nbformat"]).then(
  () => true,
  () => false,
);
if (!hasNbformat) console.warn("skipped: the schema check of notebooks needs nbformat (apt install python3-nbformat)");

const runners = (await availableRunners()).filter((name) => name === "process" || name === "wasm");
let cwd: string;
let env: Record<string, string>;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), "codecell-e2e-"));
  await chmod(cwd, 0o711); // under root, the cell runs as another user
  env = { XDG_STATE_HOME: join(cwd, "state") };
});
afterAll(async () => {
  await checkSchema();
  await rm(cwd, { recursive: true });
});

interface WrittenCell {
  readonly execution_count: number | null;
  readonly outputs: readonly { readonly output_type: string; readonly [field: string]: unknown }[];
}

const call = (...argv: string[]) => codecellHere(["run", ...argv], { cwd, env });
const place = (name: string) => join(cwd, name);

/** Writes a notebook of code cells. A cell is its code, or an object with more. */
async function notebook(name: string, cells: readonly (string | object)[], minor = 5): Promise<void> {
  const whole = cells.map((cell, index) => {
    const id = minor >= 5 ? { id: `c${index}` } : {};
    const empty = { cell_type: "code", ...id, metadata: {}, outputs: [], execution_count: null };
    return { ...empty, ...(typeof cell === "string" ? { source: cell } : cell) };
  });
  const metadata = { kernelspec: { name: "python3", display_name: "Python 3", language: "python" }, custom: { a: 1 } };
  await writeFile(place(name), JSON.stringify({ cells: whole, metadata, nbformat: 4, nbformat_minor: minor }, null, 1));
}

/** The cells of a notebook that codecell wrote. A copy waits for nbformat's own check of its schema. */
async function written(name: string): Promise<WrittenCell[]> {
  const text = await readFile(place(name), "utf8");
  await mkdir(place("to-check"), { recursive: true });
  await writeFile(join(place("to-check"), `${copies++}-${name}`), text);
  return JSON.parse(text).cells;
}
let copies = 0;

/** All at once in the end, because nbformat takes half a second to import. */
async function checkSchema(): Promise<void> {
  if (!hasNbformat) return;
  const check =
    "import nbformat, sys\nfor path in sys.argv[1:]: nbformat.validate(nbformat.read(path, nbformat.NO_CONVERT))";
  const names = await readdir(place("to-check"));
  expect(names).toHaveLength(copies);
  await run(python, ["-W", "error", "-c", check, ...names.map((name) => join(place("to-check"), name))]);
}

const kinds = ({ outputs }: WrittenCell) => outputs.map((one) => one.output_type);

describe.each(runners)("codecell run notebook.ipynb in the %s runner", (runner) => {
  const prefix = runner;
  const notebookRun = (name: string, ...argv: string[]) => call("--runner", runner, name, ...argv);

  test("runs the cells in one session and writes a copy with their outputs", async () => {
    const name = `${prefix}-all.ipynb`;
    const rich =
      "class T:\n  def __repr__(self): return 'T!'\n  def _repr_html_(self): return '<b>T</b>'\n" +
      "  def _repr_png_(self): return b'\\x89PNG'\nT()";
    await notebook(name, [
      "import sys\nx = 20\nprint('out')\nprint('err', file=sys.stderr)\nx + 1",
      rich,
      "display(T())\nprint(x, sys.argv[1:])",
      "%matplotlib inline\n%pip install pandas\ntext = '''\n%no magic\n'''",
      { source: ["%%time\n", "y = 1\n", "y"] },
      "%%capture\nprint('hidden')",
      "%%writefile a.txt\nhello",
      "open('a.txt').read()",
      { source: "1/0", metadata: { tags: ["raises-exception"] } },
      { source: "boom()", metadata: { tags: ["skip-execution"] }, outputs: [], execution_count: 40 },
      { source: "  " },
      "display({'application/json': {'a': [1]}, 'bad type': 'x'}, raw=True)",
    ]);
    const before = await readFile(place(name), "utf8");
    const done = await notebookRun(name, "word");
    expect(done.stderr).toContain("[cell 3 of 12] display(T())");
    expect(done.stderr).toContain("codecell run --with pandas");
    expect(done).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^out\n21\nT!\nT!\n20 \['word'\]\n1\nWall time:/),
    });
    expect(await readFile(place(name), "utf8")).toBe(before);
    const cells = await written(`${prefix}-all.executed.ipynb`);
    expect(cells.map(kinds)).toEqual([
      ["stream", "stream", "execute_result"],
      ["execute_result"],
      ["display_data", "stream"],
      ["stream"],
      ["execute_result", "stream"],
      [],
      ["stream"],
      ["execute_result"],
      ["error"],
      [],
      [],
      ["display_data"],
    ]);
    expect(cells.map((cell) => cell.execution_count)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 40, null, 10]);
    expect(cells[1]?.outputs[0]).toMatchObject({
      data: { "text/plain": ["T!"], "text/html": ["<b>T</b>"], "image/png": "iVBORw==" },
    });
    expect(cells[8]?.outputs[0]).toMatchObject({ ename: "ZeroDivisionError", evalue: "division by zero" });
    expect(cells[11]?.outputs[0]).toMatchObject({ data: { "application/json": { a: [1] } } });
    const after = JSON.parse(await readFile(place(`${prefix}-all.executed.ipynb`), "utf8"));
    expect(after.metadata).toEqual(JSON.parse(before).metadata);
  });
});

describe.skipIf(runners.length === 0)("codecell run notebook.ipynb with a cell that fails", () => {
  const [runner = "process"] = runners;
  const notebookRun = (name: string, ...argv: string[]) => call("--runner", runner, name, ...argv);

  test("stops at the first error, writes what there is, and drops outputs of an earlier run", async () => {
    const name = "fails.ipynb";
    const old = [{ output_type: "stream", name: "stdout", text: "old" }];
    await notebook(name, ["x = 1", "x / 0", { source: "print('never')", outputs: old, execution_count: 9 }], 4);
    const done = await notebookRun(name, "-o", "out.ipynb");
    expect(done).toMatchObject({ code: 1, stdout: "" });
    expect(done.stderr).toContain("ZeroDivisionError");
    expect(done.stderr).toContain(
      "cell 2 stopped the notebook: ZeroDivisionError: division by zero; 1 cell after it was not run",
    );
    const cells = await written("out.ipynb");
    expect(cells.map(kinds)).toEqual([[], ["error"], []]);
    expect(cells.map((cell) => cell.execution_count)).toEqual([1, 2, null]);
  });

  test("--allow-errors runs the other cells, and --json describes every cell", async () => {
    const name = "allowed.ipynb";
    await notebook(name, ["1/0", "%nope", "print('goes on')"]);
    const done = await notebookRun(name, "--allow-errors", "--inplace", "--json");
    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(done.stdout)).toMatchObject({
      ...{ notebook: place(name), output: place(name), session_id: null, status: "ok", cells_left: 0, runner },
      cells: [
        { cell: 1, status: "error", tolerated: true, execution_count: 1, error: { type: "ZeroDivisionError" } },
        { cell: 2, status: "refused", execution_count: null, problem: expect.stringContaining("cell 2, line 1") },
        { cell: 3, status: "ok", tolerated: false, execution_count: 2 },
      ],
    });
    expect((await written(name)).map(kinds)).toEqual([["error"], ["error"], ["stream"]]);
  });
});

describe.skipIf(!runners.includes("process"))("codecell run notebook.ipynb", () => {
  const notebookRun = (name: string, ...argv: string[]) => call("--runner", "process", name, ...argv);

  test("runs %%bash and commands of the shell, with variables of Python", async () => {
    await notebook("shell.ipynb", [
      "name = 'Ada'",
      "!echo hi {name} $name",
      "files = !printf 'a\\nb'\nfiles",
      "%%bash\necho $((1+1))",
    ]);
    expect(await notebookRun("shell.ipynb")).toMatchObject({ code: 0, stdout: "hi Ada Ada\n['a', 'b']\n2\n" });
    const cells = await written("shell.executed.ipynb");
    expect(cells[1]?.outputs).toMatchObject([{ name: "stdout", text: ["hi Ada Ada\n"] }]);
    expect(cells[3]?.outputs).toMatchObject([{ name: "stdout", text: ["2\n"] }]);
  });

  test("--timeout applies to each cell, and the notebook says that a cell timed out", async () => {
    await notebook("slow.ipynb", ["print('first')", "while True: pass", "print('never')"]);
    const done = await notebookRun("slow.ipynb", "--timeout", "3s", "--allow-errors");
    expect(done).toMatchObject({ code: 124, stdout: "first\n" });
    const cells = await written("slow.executed.ipynb");
    expect(cells.map(kinds)).toEqual([["stream"], ["error"], []]);
    expect(cells[1]?.outputs[0]).toMatchObject({ ename: "TimeoutError" });
  });

  test.each(["SIGINT", "SIGTERM"] as const)("writes what there is on %s", async (signal) => {
    const name = `${signal}.ipynb`;
    await notebook(name, ["x = 'kept'\nx", "import time\nprint('going', flush=True)\ntime.sleep(60)", "1"]);
    const one = new CodecellProcess(launcher, ["run", "--runner", "process", name], { cwd, env });
    await one.printed("going\n");
    process.kill(one.pid, signal);
    expect((await one.finished).code).toBe({ SIGINT: 130, SIGTERM: 143 }[signal]);
    const cells = await written(`${signal}.executed.ipynb`);
    expect(cells[0]?.outputs).toMatchObject([{ data: { "text/plain": ["'kept'"] } }]);
    expect(cells[1]?.outputs).toMatchObject([{ text: ["going\n"] }, { ename: "KeyboardInterrupt" }]);
  });

  test("--session continues the variables and the counts of a session", async () => {
    await notebook("part.ipynb", ["x += 1\nx"]);
    await call("--runner", "process", "--session", "nb", "-c", "x = 1");
    expect(await notebookRun("part.ipynb", "--session", "nb")).toMatchObject({ code: 0, stdout: "2\n" });
    expect((await written("part.executed.ipynb"))[0]?.execution_count).toBe(2);
    expect(await call("--runner", "process", "--session", "nb", "-c", "x")).toMatchObject({ stdout: "2\n" });
  });

  test("writes through a link with --inplace, and keeps the permissions of the file", async () => {
    await notebook("real.ipynb", ["6 * 7"]);
    await chmod(place("real.ipynb"), 0o640);
    await symlink("real.ipynb", place("link.ipynb"));
    expect(await notebookRun("link.ipynb", "--inplace")).toMatchObject({ code: 0, stdout: "42\n" });
    expect(kinds((await written("real.ipynb"))[0] as WrittenCell)).toEqual(["execute_result"]);
    const { stdout } = await run("stat", ["-c", "%a %F", "real.ipynb", "link.ipynb"], { cwd });
    expect(stdout).toBe("640 regular file\n777 symbolic link\n");
  });
});

describe.skipIf(!runners.includes("process"))("codecell sessions export", () => {
  const exported = (...argv: string[]) => codecellHere(["sessions", "export", ...argv], { cwd, env });
  const codeRun = (...argv: string[]) => call("--runner", "process", "--session", "work", ...argv);
  beforeAll(async () => {
    await codeRun("-c", "print('hi')\ndisplay({'image/png': b'\\x89PNG' * 2000}, raw=True)\n[1, 2]");
    await codeRun("-c", "print('a\\rimport os'); 1/0");
    await codeRun("--language", "bash", "-c", "echo from bash");
  });

  test("writes the runs of a session as a notebook with their outputs", async () => {
    expect(await codecell(["sessions", "export", "work", "--output", "work.ipynb"], { cwd, env })).toMatchObject({
      ...{ code: 0, stdout: "wrote work.ipynb (3 runs)\n", stderr: "" },
    });
    const cells = await written("work.ipynb");
    expect(cells.map(kinds)).toEqual([["stream", "display_data", "execute_result"], ["stream", "error"], ["stream"]]);
    const data = Buffer.from("\x89PNG".repeat(2000), "latin1").toString("base64");
    expect(cells[0]?.outputs[1]).toMatchObject({ data: { "image/png": data } });
    expect(cells[2]).toMatchObject({ source: ["%%bash\n", "echo from bash"], execution_count: 3 });
    expect(await exported("work", "--output", "work.ipynb")).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining("already exists") },
    });
    const rerun = await call("--runner", "process", "work.ipynb", "--allow-errors");
    expect(rerun).toMatchObject({ code: 0, stdout: expect.stringContaining("from bash\n") });
    expect((await written("work.executed.ipynb")).map(kinds)).toEqual(cells.map(kinds));
  });

  test("writes them as a script that runs, and as JSON", async () => {
    const script = await exported("work", "--format", "py");
    expect(script).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("#> hi\n#> [image/png, 8000 bytes]\n#> [1, 2]\n"),
    });
    await writeFile(place("work.py"), script.stdout);
    expect(await call("--runner", "process", "work.py")).toMatchObject({ code: 0, stdout: "hi\n" });
    const { stdout } = await exported("work", "--format", "json", "--last", "2");
    expect(JSON.parse(stdout)).toMatchObject({
      session_id: "work",
      history: [
        { run: 2, status: "error", outputs: { error: { type: "ZeroDivisionError" } } },
        { run: 3, language: "bash", outputs: { events: [{ type: "stdout", text: "from bash\n" }] } },
      ],
    });
  });

  test("explains an unknown session and an unknown format", async () => {
    expect(await exported("nobody")).toMatchObject({ code: 1, stderr: expect.stringContaining('no session "nobody"') });
    expect(await exported("work", "-o", "work.docx")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--format"),
    });
    expect(await exported("work", "--format", "R")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("ipynb, py, json"),
    });
  });
});

describe.skipIf(!runners.includes("wasm"))("codecell run notebook.ipynb without a shell", () => {
  test("names the cell that needs one, and runs nothing", async () => {
    await notebook("needs.ipynb", ["print('not run')", "!ls"]);
    const done = await call("--runner", "wasm", "needs.ipynb");
    expect(done).toMatchObject({
      code: 4,
      stdout: "",
      stderr: expect.stringContaining("cell 2 runs commands of a shell"),
    });
    expect(existsSync(place("needs.executed.ipynb"))).toBe(false);
    await notebook("some.ipynb", ["%%bash\nls", "print('goes on')"]);
    expect(await call("--runner", "wasm", "some.ipynb", "--allow-errors")).toMatchObject({
      code: 0,
      stdout: "goes on\n",
    });
    expect((await written("some.executed.ipynb")).map(kinds)).toEqual([["error"], ["stream"]]);
  });
});

describe("a notebook that cannot be run", () => {
  const refused = async (name: string, message: RegExp, ...argv: string[]) => {
    const before = await readdir(cwd);
    const done = await call(name, ...argv);
    expect(done).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(message) });
    expect(await readdir(cwd)).toEqual(before);
  };

  test("is refused with the place, and nothing is written", async () => {
    await writeFile(place("text.ipynb"), "print(1)");
    await refused("text.ipynb", /^codecell: text\.ipynb:1:1: a value is expected here/);
    await notebook("cut.ipynb", ["1"]);
    await truncate(place("cut.ipynb"), 60);
    await refused("cut.ipynb", /^codecell: cut\.ipynb:\d+:\d+: .*truncated/);
    await writeFile(place("old.ipynb"), '{"nbformat": 3, "nbformat_minor": 0, "worksheets": [], "metadata": {}}');
    await refused("old.ipynb", /old\.ipynb:1:14: the notebook has format 3/);
    await writeFile(place("latin.ipynb"), Buffer.from('{"caf\xe9": 1}', "latin1"));
    await refused("latin.ipynb", /latin\.ipynb is not UTF-8/);
    await notebook("magic.ipynb", ["1", "x = 1\n%nope y"]);
    await refused("magic.ipynb", /cell 2, line 2: codecell does not have the magic %nope/);
    await mkdir(place("dir.ipynb"));
    await refused("dir.ipynb", /dir\.ipynb is a directory/);
    await refused("none.ipynb", /none\.ipynb does not exist/);
    await writeFile(place("large.ipynb"), "");
    await truncate(place("large.ipynb"), 200 * 1024 * 1024);
    await refused("large.ipynb", /large\.ipynb is larger than 64 MiB/);
  });

  test("is refused before it runs if its outputs cannot be written", async () => {
    await notebook("fine.ipynb", ["1"]);
    await writeFile(place("data.csv"), "precious");
    await refused("fine.ipynb", /data\.csv exists and is not a notebook/, "-o", "data.csv");
    await refused("fine.ipynb", /fine\.ipynb is the notebook itself/, "-o", "fine.ipynb");
    await refused("fine.ipynb", /is in a directory that does not exist/, "-o", "no/where.ipynb");
    await refused("fine.ipynb", /is not a regular file/, "-o", "/dev/null");
    await refused("fine.ipynb", /cannot be combined/, "-o", "x.ipynb", "--inplace");
    await refused("fine.ipynb", /--language is not for notebooks/, "--language", "bash");
    expect(await readFile(place("data.csv"), "utf8")).toBe("precious");
  });

  test("the options of notebooks are refused for other programs", async () => {
    expect(await call("-c", "1", "--inplace")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("for notebooks"),
    });
  });
});
