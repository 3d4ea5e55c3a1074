import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commands } from "../../src/surfaces/cli/commands.ts";
import { makeCommandList } from "../../src/surfaces/cli/completion/command-list.ts";
import { codecellHere } from "./codecell-here.ts";
import { launcher, root } from "./codecell-process.ts";

/** Real shells, with the script of `codecell completion` and a `codecell` on PATH. */
let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), "codecell-completion-"));
  await writeFile(join(cwd, "codecell"), `#!/bin/sh\nexec "${process.execPath}" "${launcher}" "$@"\n`);
  await chmod(join(cwd, "codecell"), 0o755);
  for (const id of ["demo", "deep-work"]) {
    await mkdir(join(cwd, "state", "codecell", "sessions", id), { recursive: true });
  }
  await mkdir(join(cwd, "dir one"));
  await writeFile(join(cwd, "script one.py"), "");
});
afterAll(() => rm(cwd, { recursive: true, force: true }));

function environment(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${cwd}:${process.env.PATH}`, XDG_STATE_HOME: join(cwd, "state"), HOME: cwd };
}

function shell(program: string, args: readonly string[]): Promise<string> {
  const env = environment();
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd, env, timeout: 60_000 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stderr}`));
      else resolve(stdout);
    });
  });
}

function isInstalled(program: string): boolean {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Lines as a user has typed them when pressing Tab, and what is offered. */
const lines: readonly (readonly [string, readonly string[]])[] = [
  ["codecell ses", ["sessions"]],
  ["codecell sessions r", ["rm", "restore"]],
  ["codecell run --ru", ["--runner"]],
  ["codecell run --runner pro", ["process"]],
  ["codecell logs de", ["deep-work", "demo"]],
  ["codecell completion z", ["zsh"]],
  ["codecell no-such-command x", []],
];

const bashTab = `
tab() {
  COMP_LINE="$1"; COMP_POINT=\${#1}; read -ra COMP_WORDS <<< "\${1//=/ = }"
  [[ $1 == *" " || $1 == *= ]] && [[ $1 != *= ]] && COMP_WORDS+=("")
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); COMPREPLY=()
  compopt() { echo "compopt $*"; }
  _codecell codecell
  printf '%s\\n' "\${COMPREPLY[@]}" END
}
source <(codecell completion bash)
`;

async function bash(typed: readonly string[]): Promise<string[][]> {
  const calls = typed.map((line) => `tab ${JSON.stringify(line)}`).join("\n");
  const shown = await shell("bash", ["--norc", "--noprofile", "-c", `${bashTab}${calls}`]);
  return shown.split("END\n").map((part) => part.split("\n").filter((line) => line !== ""));
}

test("bash completes commands, options, values and sessions", async () => {
  const found = await bash(lines.map(([line]) => line));
  for (const [index, [line, expected]] of lines.entries()) {
    expect({ line, found: [...(found[index] ?? [])].sort() }).toEqual({ line, found: [...expected].sort() });
  }
});

test("bash completes the value behind an equals sign, and leaves files to readline", async () => {
  const [value, files, dirs] = await bash([
    "codecell run --runner=pro",
    "codecell run --policy=",
    "codecell run --workspace ",
  ]);
  expect(value).toEqual(["process"]);
  expect(files).toEqual(["compopt -o default"]);
  expect(dirs).toEqual(["compopt -o filenames", "dir one", "state"]);
});

test.skipIf(!isInstalled("script"))("bash in a terminal completes what a user types before Tab", async () => {
  await writeFile(
    join(cwd, "rc"),
    "source <(codecell completion bash); PS1='ready> '; bind 'set enable-bracketed-paste off'",
  );
  // `script` gives bash a terminal; readline then handles the keys.
  const terminal = spawn("script", ["-qec", "bash --noprofile --rcfile rc -i", "/dev/null"], {
    cwd,
    env: environment(),
  });
  let shown = "";
  let look = () => {};
  terminal.stdout.on("data", (bytes) => {
    shown += bytes;
    look();
  });
  const sees = (text: string) =>
    new Promise<void>((resolve) => {
      look = () => shown.includes(text) && resolve();
      look();
    });
  const exited = once(terminal, "exit");
  await sees("ready> ");
  terminal.stdin.write("codecell sess\t");
  await sees("codecell sessions ");
  terminal.stdin.write("sho\t");
  await sees("codecell sessions show ");
  terminal.stdin.write("dem\t");
  await sees("codecell sessions show demo ");
  terminal.stdin.write("\u0015exit\n"); // Ctrl-U clears the line
  await exited;
});

test.skipIf(!isInstalled("zsh"))("zsh completes commands, options, values and sessions", async () => {
  const script = `
    autoload -U compinit; compinit -u -d '${join(cwd, "zcompdump")}'
    source <(codecell completion zsh)
    _describe() { local -a found; found=("\${(@P)3}"); print -l -- "\${(@)found%%:*}" }
    _files() { print -- "files $*" }
    tab() { words=("\${(@s: :)1}"); CURRENT=$#words; _codecell; print -- END }
    ${lines.map(([line]) => `tab ${JSON.stringify(line)}`).join("\n")}
    tab "codecell run x"
    tab "codecell run --workspace x"`;
  const parts = (await shell("zsh", ["-f", "-c", script])).split("END\n");
  const found = parts.map((part) =>
    part
      .split("\n")
      .filter((line) => line !== "")
      .sort(),
  );
  expect(found.slice(0, lines.length)).toEqual(lines.map(([, expected]) => [...expected].sort()));
  expect(found.slice(lines.length, lines.length + 2)).toEqual([["files "], ["files -/"]]);
});

test.skipIf(!isInstalled("fish"))("fish completes commands, options, values and sessions", async () => {
  const calls = lines.map(([line]) => `complete -C ${JSON.stringify(line)}; echo END`).join("\n");
  const files = `complete -C "codecell run scri"; echo END; complete -C "codecell run --workspace di"; echo END`;
  const script = `codecell completion fish | source\n${calls}\n${files}`;
  const parts = (await shell("fish", ["--no-config", "-c", script])).split("END\n");
  const found = parts.map((part) => part.split("\n").filter((line) => line !== ""));
  const words = found.map((part) => part.map((line) => line.split("\t")[0] ?? "").sort());
  expect(words.slice(0, lines.length)).toEqual(lines.map(([, expected]) => [...expected].sort()));
  expect(found[0]).toEqual(["sessions\tls, show, rm, save, restore"]);
  expect(words.slice(lines.length, lines.length + 2)).toEqual([["script one.py"], ["dir one/"]]);
});

for (const name of ["zsh", "fish"]) {
  if (!isInstalled(name)) console.log(`skipped: ${name} is not installed, so its completion script is only read`);
}

test.each(["bash", "zsh", "fish"])("the %s script asks codecell with the words and drops its errors", async (name) => {
  const { stdout: text } = await codecellHere(["completion", name]);
  expect(text).toContain(" completion --words -- ");
  expect(text).toContain("2>/dev/null");
  for (const { name: command } of commands) if (command.includes(" ")) expect(text).not.toContain(command);
});

test("completing a word loads no command and no dependency", async () => {
  const listed = JSON.parse(await readFile(join(root, "dist", "bundled", "commands.json"), "utf8"));
  expect(listed).toEqual(JSON.parse(JSON.stringify(await makeCommandList(commands))));
  const coverage = join(cwd, "coverage");
  await shell("env", [`NODE_V8_COVERAGE=${coverage}`, "codecell", "completion", "--words", "--", "logs", ""]);
  const seen = readdirSync(coverage)
    .map((file) => readFileSync(join(coverage, file), "utf8"))
    .join("");
  expect(seen).toContain("/scripts/complete-words.");
  expect(seen).not.toMatch(/\/scripts\/(zod|run|sessions|service|logs)\./);
});
