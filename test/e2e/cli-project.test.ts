import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { codecellHere } from "./codecell-here.ts";
import { availableRunners, codecell } from "./codecell-process.ts";

const runners = await availableRunners();
const hasProcess = runners.includes("process");

const script = `
import near, helper

print(near.name, helper.answer(), open("data.csv").read(), open("tables/more.csv").read())
for name in ("new.txt", "data.csv"):
    try:
        open(name, "w").write("changed")
        print(name, open(name).read())
    except OSError as error:
        print(name, type(error).__name__)
for name in (".env", "passwd"):
    try:
        print(open(name).read())
    except OSError as error:
        print(name, "is not readable")
`;

let cwd = "";
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "cc-project-"));
  chmodSync(cwd, 0o755); // cells of root have another user, who must be able to reach it
  for (const name of ["tables", "src"]) mkdirSync(join(cwd, name));
  const files = {
    "helper.py": "def answer():\n    return 42\n",
    "data.csv": "a,b\n",
    "tables/more.csv": "c,d\n",
    "src/near.py": "name = 'near'\n",
    "src/main.py": script,
    ".env": "TOKEN=secret\n",
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  symlinkSync("/etc/shadow", join(cwd, "passwd"));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

function program(text: string): string {
  writeFileSync(join(cwd, "program.py"), text);
  return "program.py";
}

test.each(runners)(
  "codecell run --project lets a script import and open its neighbours, but not change them, in the %s runner",
  async (runner) => {
    const before = readdirSync(cwd, { recursive: true });
    const { code, stdout } = await codecell(["run", "src/main.py", "--project", ".", "--runner", runner], { cwd });
    // wasm has copies
    const written = runner === "wasm" ? "data.csv changed\n" : "data.csv OSError\n";
    const hidden = ".env is not readable\npasswd is not readable\n";
    expect({ code, stdout }).toEqual({ code: 0, stdout: `near 42 a,b\n c,d\n\nnew.txt changed\n${written}${hidden}` });
    expect(readFileSync(join(cwd, "data.csv"), "utf8")).toBe("a,b\n");
    expect(readdirSync(cwd, { recursive: true })).toEqual(before);
  },
);

test.skipIf(!hasProcess)("--project leaves nothing but new files in a session's workspace", async () => {
  const argv = ["--session", "neighbours", "--runner", "process"];
  const env = { XDG_STATE_HOME: join(cwd, "state") };
  const file = program('open("out.txt", "w").write(open("data.csv").read())\n');
  const first = await codecellHere(["run", file, "--project", ".", ...argv], { cwd, env });
  expect(first.stderr).toContain("codecell: wrote out.txt (4 B)\n");
  const second = await codecellHere(["run", "-c", "import os; sorted(os.listdir())", ...argv], { cwd, env });
  expect(second.stdout).toBe("['out.txt']\n");
});

test.skipIf(!hasProcess)("a bash script sees its neighbours too", async () => {
  writeFileSync(join(cwd, "job.sh"), "cat data.csv; echo new > data.csv || echo refused\n");
  const { stdout } = await codecellHere(["run", "job.sh", "--project", ".", "--runner", "process"], { cwd });
  expect(stdout).toBe("a,b\nrefused\n");
});

test("--project is refused if it is no directory, or one that no cell may see", async () => {
  const missing = await codecellHere(["run", "src/main.py", "--project", "nowhere"], { cwd });
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('--project "nowhere" is not a directory') });
  for (const runner of runners) {
    const refused = await codecellHere(["run", "src/main.py", "--project", "/etc", "--runner", runner], { cwd });
    expect(refused).toMatchObject({ stdout: "", stderr: expect.stringContaining("/etc is refused") });
    expect(refused.code).not.toBe(0);
  }
});

test("a project of more than 1000 files is not copied into wasm, and the program does not run", async () => {
  for (let index = 0; index < 1001; index++) writeFileSync(join(cwd, "tables", `${index}`), "");
  const { code, stdout, stderr } = await codecellHere(["run", "src/main.py", "--project", ".", "--runner", "wasm"], {
    cwd,
  });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("the project has more than 1000 files, and the wasm runner has to copy it into memory");
});

test.each(runners)(
  "a script that cannot open its neighbour gets a hint at --project in the %s runner",
  async (runner) => {
    const opens = await codecellHere(["run", program("open('tables/more.csv')"), "--runner", runner, "--json"], {
      cwd,
    });
    const { notes } = JSON.parse(opens.stdout) as { notes: string[] };
    expect(opens.code).toBe(1);
    expect(notes.at(-1)).toContain("tables is beside program.py on the host, but not in the cell; add --project . ");
  },
);

test("a script that cannot import its neighbour gets a hint at --project, with a directory to paste", async () => {
  const { code, stderr } = await codecellHere(["run", join(cwd, program("import helper"))]);
  expect(code).toBe(1);
  expect(stderr).toContain("codecell: helper.py is beside program.py on the host, but not in the cell; ");
  expect(stderr).toContain(`add --project ${cwd} to let the program read that directory\n`);
  const absent = await codecellHere(["run", program("import absent")], { cwd });
  expect(absent.code).toBe(1);
  expect(absent.stderr).not.toContain("--project");
});
