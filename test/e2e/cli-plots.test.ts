import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { codecellHere } from "./codecell-here.ts";
import { availableRunners, codecell, launcher, stateHome } from "./codecell-process.ts";

const runners = await availableRunners();

/** A program with a figure, as a library defines one: a value that offers a picture and a page. */
const figure = `
import struct, zlib

def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

class Figure:
    def _repr_png_(self):
        header = chunk(b"IHDR", struct.pack(">IIBBBBB", 3, 7, 8, 2, 0, 0, 0))
        pixels = chunk(b"IDAT", zlib.compress((b"\\0" + b"\\xff\\0\\0" * 3) * 7))
        return b"\\x89PNG\\r\\n\\x1a\\n" + header + pixels + chunk(b"IEND", b"")
    def _repr_html_(self):
        return "<b>figure</b>"
    def __repr__(self):
        return "<Figure>"
`;

let cwd = "";
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "cc-plots-"));
  writeFileSync(join(cwd, "plot.py"), `${figure}\nprint("before")\ndisplay(Figure())\nprint("after")\n`);
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

function isRedPicture(path: string): boolean {
  const data = readFileSync(path);
  return data.toString("latin1", 1, 4) === "PNG" && data.readUInt32BE(16) === 3 && data.readUInt32BE(20) === 7;
}

test.each(runners)("codecell run --plots saves a figure and its page as files in the %s runner", async (runner) => {
  const { code, stdout, stderr } = await codecell(["run", "plot.py", "--plots", "out", "--runner", runner], { cwd });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "before\n<Figure>\nafter\n" });
  expect(stderr).toMatch(
    /^codecell: saved out\/plot-1\.html .*\ncodecell: saved out\/plot-1\.png \(image\/png, \d+ B\)\n$/,
  );
  expect(readFileSync(join(cwd, "out/plot-1.html"), "utf8")).toBe("<b>figure</b>");
  expect(isRedPicture(join(cwd, "out/plot-1.png"))).toBe(true);
});

test("codecell run without --plots saves pictures in the state directory, and leaves the current one alone", async () => {
  const { code, stderr } = await codecellHere(["run", "plot.py"], { cwd });
  const [, path = ""] = /^codecell: saved (\S+\/codecell\/plots\/\S+\/plot-1\.png) /.exec(stderr) ?? [];
  expect(code).toBe(0);
  expect(isRedPicture(path)).toBe(true);
  expect(readdirSync(cwd)).toEqual(["plot.py"]);
});

test("codecell run --session saves plots beside the session, and sessions rm deletes them", async () => {
  chmodSync(cwd, 0o711); // cells of root have another user, who must be able to reach the workspace
  const env = { XDG_STATE_HOME: join(cwd, "state") };
  const directory = join(cwd, "state", "codecell", "sessions", "plotted", "plots");
  const first = await codecellHere(["run", "--session", "plotted", "plot.py"], { cwd, env });
  expect(first.stderr).toContain(`codecell: saved ${join(directory, "plot-1.png")}`);
  const second = await codecellHere(["run", "--session", "plotted", "plot.py", "--json"], { cwd, env });
  const { displays } = JSON.parse(second.stdout) as { displays: { mime_type: string; path: string | null }[] };
  expect(displays.map(({ mime_type, path }) => [mime_type, path])).toEqual([
    ["text/plain", null],
    ["text/html", null],
    ["image/png", join(directory, "plot-2.png")],
  ]);
  expect(readdirSync(directory).sort()).toEqual(["plot-1.png", "plot-2.png"]);
  expect((await codecellHere(["sessions", "rm", "plotted"], { cwd, env })).code).toBe(0);
  expect(() => readdirSync(directory)).toThrow("ENOENT");
});

test("codecell run --plots with a wrong directory fails before the program runs", async () => {
  const { code, stdout, stderr } = await codecellHere(["run", "plot.py", "--plots", "plot.py"], { cwd });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain('plots cannot be saved in "plot.py": it is not a directory');
});

const hostile = `
for i in range(1_000):
    display({"image/png": b"\\x1b]52;c;eA==\\x07", "text/html\\x1b[2J": "x"}, raw=True)
`;

test("a thousand fake pictures leave no file and no control sequence", async () => {
  const { stdout, stderr } = await codecellHere(["run", "-c", hostile, "--plots", "out"], { cwd });
  expect(stdout).toBe("");
  expect(stderr).not.toContain("\u001b");
  expect(stderr.split("\n").length).toBeLessThan(40);
  expect(readdirSync(join(cwd, "out"))).toEqual([]);
});

test("codecell run shows a figure in kitty", async () => {
  const shown = await inTerminal(["run", "plot.py", "--plots", "out"], { TERM: "xterm-kitty" });
  const [before = "", after = ""] = shown.split("\u001b_Ga=T,f=100,t=d,q=2,m=0;iVBORw0KGgo");
  expect(before).toContain("before\r\n");
  expect(after).toContain("saved out/plot-1.png");
  expect(after).toContain("after\r\n");
});

test.each([
  ["iTerm2", { TERM: "xterm-256color", TERM_PROGRAM: "iTerm.app" }, "\u001b]1337;File=inline=1;size="],
  ["a terminal with sixels", { TERM: "foot" }, '\u001bP0;1;0q"1;1;3;7#0;2;100;0;0#0~~~-#0@@@-\u001b\\'],
])("codecell run shows a figure in %s", async (_, env, picture) => {
  const { stdout, stderr } = await onFakeTerminal(["run", "plot.py", "--plots", "out"], env);
  const [before = "", after = ""] = stdout.split(picture);
  expect(before).toBe("before\n");
  expect(after).toMatch(/\nafter\n$/);
  expect(stderr).toContain("saved out/plot-1.png");
});

test("a terminal that is not known to show pictures, and tmux, get the path", async () => {
  for (const env of [{ TERM: "xterm-256color" }, { TERM: "xterm-kitty", TMUX: "/tmp/tmux-0/default,1,0" }]) {
    const { stdout, stderr } = await onFakeTerminal(["run", "plot.py", "--plots", "out"], env);
    expect(stderr).toContain("saved out/plot-");
    expect(stdout + stderr).not.toMatch(/iVBOR|1337|0;1;0q/);
  }
});

test("codecell repl shows and saves figures as run does", async () => {
  const define = `import base64; exec(base64.b64decode('${Buffer.from(figure).toString("base64")}'))`;
  const shown = await inTerminal(["repl", "--plots", "out"], { TERM: "xterm-kitty" }, `${define}\nFigure()\n%exit\n`);
  expect(shown).toContain("\u001b_Ga=T,f=100,t=d,q=2,m=0;iVBORw0KGgo");
  expect(shown).toContain("saved out/plot-1.png");
  expect(isRedPicture(join(cwd, "out/plot-1.png"))).toBe(true);
});

/** The variables by which a terminal is known, without those of the terminal that the tests run in. */
const unknownTerminal = { TMUX: "", STY: "", TERM_PROGRAM: "", KITTY_WINDOW_ID: "", LC_TERMINAL: "" };

function onFakeTerminal(argv: readonly string[], env: Record<string, string>) {
  return codecellHere(argv, { cwd, isTTY: true, env: { ...unknownTerminal, ...env } });
}

/** What a real terminal receives. */
function inTerminal(argv: readonly string[], env: Record<string, string>, typed = ""): Promise<string> {
  const spawnInTerminal = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) and 1)";
  const clean: NodeJS.ProcessEnv = { ...process.env, XDG_STATE_HOME: stateHome };
  for (const name of ["TMUX", "STY", "TERM_PROGRAM", "KITTY_WINDOW_ID", "LC_TERMINAL"]) delete clean[name];
  const child = spawn("python3", ["-c", spawnInTerminal, process.execPath, launcher, ...argv], {
    cwd,
    env: { ...clean, ...env },
  });
  let shown = "";
  child.stdout.on("data", (bytes) => {
    shown += bytes;
  });
  child.stdin.end(typed);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", () => resolve(shown));
  });
}
