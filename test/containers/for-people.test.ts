import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { codecell } from "../e2e/codecell-process.ts";
import { engineFor } from "./context.ts";

const docker = engineFor("container");
const { mountable } = inject("containers");

/** What people do at a prompt and in notebooks, where the cell is a container. */
describe.skipIf(docker === undefined)("in a container,", () => {
  let cwd = "";
  const stateDir = () => join(cwd, "state");
  const run = (...argv: string[]) =>
    codecell([...argv, "--runner", "container", "--state-dir", stateDir()], {
      cwd,
      env: { DOCKER_HOST: docker ?? "", XDG_RUNTIME_DIR: cwd },
    });
  beforeAll(async () => {
    cwd = await mkdtemp(join(mountable, "people-"));
    await mkdir(join(cwd, "project"));
    await writeFile(join(cwd, "project", "helper.py"), "answer = 42\n");
    await writeFile(join(cwd, "project", "main.py"), "import helper\nprint(helper.answer)\n");
  });
  afterAll(() => rm(cwd, { recursive: true, force: true }));

  test("codecell run executes a notebook and writes its outputs", async () => {
    const cells = ["x = 40", "x + 2"].map((source) => ({
      ...{ cell_type: "code", source, metadata: {}, outputs: [], execution_count: null },
    }));
    await writeFile(join(cwd, "a.ipynb"), JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor: 4 }));
    const { code, stderr } = await run("run", "a.ipynb");
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const written = JSON.parse(await readFile(join(cwd, "a.executed.ipynb"), "utf8"));
    expect(written.cells[1].outputs[0].data["text/plain"]).toEqual("42");
  });

  test("codecell run saves a picture that the program displays", async () => {
    const drawing = `class Drawing:\n    def _repr_svg_(self): return "<svg xmlns='http://www.w3.org/2000/svg'/>"\nDrawing()`;
    const { code, stderr } = await run("run", "-c", drawing, "--plots", "out");
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(await readFile(join(cwd, "out", "plot-1.svg"), "utf8")).toContain("<svg");
  });

  test("codecell run --project lets a script import its neighbours", async () => {
    expect(await run("run", "project/main.py", "--project", "project")).toMatchObject({ code: 0, stdout: "42\n" });
  });

  test("codecell repl keeps a named session for the next call", async () => {
    const repl = (stdin: string) =>
      codecell(["repl", "--session", "kept", "--runner", "container", "--state-dir", stateDir()], {
        ...{ cwd, stdin, env: { DOCKER_HOST: docker ?? "", XDG_RUNTIME_DIR: cwd } },
      });
    expect(await repl("x = 6\n")).toMatchObject({ code: 0 });
    expect(await repl("x * 7\n")).toMatchObject({ code: 0, stdout: "42\n" });
  });
});
