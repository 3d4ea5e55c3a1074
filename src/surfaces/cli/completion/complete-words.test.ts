import { expect, test } from "vitest";
import { commands } from "../commands.ts";
import { completeWords } from "./complete-words.ts";
import { operandsOf } from "./operands-of.ts";

const names = {
  sessions: async (stateDir?: string) => (stateDir === undefined ? ["demo", "work"] : [`in-${stateDir}`]),
  artifacts: async (session: string) => [`${session}.csv`, "plot.png"],
};

async function complete(line: string) {
  const { kind, candidates } = await completeWords(line.split(" "), commands, names);
  return kind === "words" ? candidates.map(({ value }) => value) : kind;
}

test("the first word is a command or a group", async () => {
  const all = await complete("");
  expect(all).toEqual(expect.arrayContaining(["run", "ps", "logs", "sessions", "setup", "help", "--version"]));
  expect(new Set(all).size).toBe(all.length);
  expect(await complete("se")).toEqual(["sessions", "serve", "setup"]);
  expect(await complete("nonsense ")).toEqual([]);
});

test("the second word of a group is one of its commands, with its summary", async () => {
  expect(await complete("sessions r")).toEqual(["rm", "restore"]);
  expect(await complete("help setup c")).toEqual(["claude-code", "cursor", "claude-desktop", "codex"]);
  const { candidates } = await completeWords(["setup", "cu"], commands, names);
  expect(candidates).toEqual([{ value: "cursor", description: "Add the MCP server to Cursor" }]);
});

test.each(commands.map(({ name }) => name))("every option of `%s` is completed", async (name) => {
  const command = await commands.find((one) => one.name === name)?.load();
  const options = Object.keys(command?.options ?? {}).map((option) => `--${option}`);
  expect(await complete(`${name} --`)).toEqual(options);
});

test("an option that is used is not offered again, unless it may be repeated", async () => {
  const rest = await complete("run --json --mount a:/b --");
  expect(rest).not.toContain("--json");
  expect(rest).toContain("--mount");
});

test.each([
  ["run --runner ", ["auto", "container", "gvisor", "kata", "kubernetes", "process", "srt", "wasm"]],
  ["run -l py", ["python"]],
  ["run --language=py", ["--language=python"]],
  ["policy init ", ["data-analysis", "strict"]],
  ["policy init --preset s", ["strict"]],
  ["setup codex --scope ", ["project", "user"]],
  ["mcp --tools r", ["rlm"]],
  ["completion ", ["bash", "fish", "zsh"]],
])("codecell %s is completed with the values that are possible", async (line, expected) => {
  const found = await complete(line);
  expect([...found].sort()).toEqual(expected);
});

test.each([
  ["run ", "files"],
  ["run --policy ", "files"],
  ["run --policy=a", "files"],
  ["run --workspace ", "dirs"],
  ["run a.py -- ", "files"],
  ["policy check ", "files"],
  ["rlm show ", "files"],
])("codecell %s is completed with %s", async (line, expected) => {
  expect(await complete(line)).toBe(expected);
});

test.each([
  ["artifacts ls ", ["demo", "work"]],
  ["logs d", ["demo"]],
  ["sessions rm demo w", ["work"]],
  ["run --session ", ["demo", "work"]],
  ["run --session=w", ["--session=work"]],
  ["audit show --state-dir elsewhere ", ["in-elsewhere"]],
  ["artifacts get demo ", ["demo.csv", "plot.png"]],
  ["artifacts get --session work ", ["work.csv", "plot.png"]],
  ["artifacts rm demo plot.png ", ["demo.csv", "plot.png"]],
])("codecell %s is completed with names on this machine", async (line, expected) => {
  expect(await complete(line)).toEqual(expected);
});

test("words that no command has complete to nothing, not to an error", async () => {
  expect(await complete("run --constructor=")).toEqual([]);
  expect(await complete("run --nonsense")).toEqual([]);
  expect(await complete("run --json=")).toEqual([]);
  expect(await complete("help sessions ls ")).toEqual([]);
  expect(await completeWords([], commands, names)).toMatchObject({ kind: "words" });
});

test("the operands of every command are read from its usage line", async () => {
  const found: Record<string, unknown> = {};
  for (const { name, load } of commands) {
    const { kinds, repeats } = operandsOf(await load());
    if (kinds.length > 0) found[name] = repeats ? [...kinds, "…"] : kinds;
  }
  expect(found).toMatchObject({
    "artifacts get": ["session", "artifact"],
    "artifacts ls": ["session"],
    "artifacts rm": ["session", "artifact", "…"],
    "audit export": ["session"],
    "audit show": ["session"],
    "audit tail": ["session"],
    completion: [["bash", "zsh", "fish"]],
    logs: ["session"],
    "policy check": ["file"],
    "policy explain": ["file"],
    "policy export": ["file"],
    "policy trust": ["file"],
    "rlm show": ["file"],
    "sessions rm": ["session", "…"],
    "sessions show": ["session"],
  });
  for (const name of ["ps", "doctor", "serve", "mcp", "rlm run", "setup claude-code", "audit verify"]) {
    expect(found).not.toHaveProperty([name]);
  }
});
