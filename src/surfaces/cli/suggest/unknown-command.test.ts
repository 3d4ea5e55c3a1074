import { expect, test } from "vitest";
import { commands } from "../commands.ts";
import { suggestedPhrases } from "./familiar-commands.ts";
import { unknownCommand } from "./unknown-command.ts";

const names = commands.map(({ name }) => name);

test.each([
  ["sessions delete demo", "did you mean codecell sessions rm?"],
  ["session ls", "did you mean codecell sessions ls?"],
  ["session delete demo", "did you mean codecell sessions rm?"],
  ["sandbox list", "did you mean codecell sessions ls?"],
  ["policy validate", "did you mean codecell policy check?"],
  ["artifacts download demo", "did you mean codecell artifacts get?"],
  ["files list", "did you mean codecell artifacts ls?"],
  ["token revoke ci", "did you mean codecell token rm?"],
  ["token list", "did you mean codecell token ls?"],
  ["images", "`codecell image ls` lists the images"],
  ["list", "`codecell ps` lists what is live now"],
  ["exec demo ls", "`codecell run -c CODE`"],
  ["start", "`codecell serve` starts the service"],
  ["kill demo", "`codecell ps` shows which process holds a session"],
  ["session kill demo", "`codecell ps` shows which process holds a session"],
  ["get pods", "`codecell ps` lists what is live now"],
  ["script.py", "did you mean codecell run script.py?"],
  ["-c 1", "did you mean codecell run -c?"],
  ["polcy check", "did you mean codecell policy?"],
])("codecell %s is answered with the command that was meant", (line, hint) => {
  expect(unknownCommand(line.split(" "), commands).hint).toContain(hint);
});

test.each([
  ["sessions fork art", "`session.fork()` of the library"],
  ["sandbox clone art", "`session.fork()` of the library"],
  ["fork art", "`POST /v1/sessions/ID/fork`"],
  ["sessions undo", "`session.undo()` of the library"],
  ["sessions rollback art", "`session.rollback(NAME)` of the library"],
  ["checkpoint", "the tool `checkpoint` over MCP"],
])("codecell %s is answered with where that exists", (line, hint) => {
  expect(unknownCommand(line.split(" "), commands).hint).toContain(hint);
});

test.each(["sessions frk", "sessions ru", "sessions em", "token rn", "artifacts am"])(
  "codecell %s is not answered with a command that deletes or ends something",
  (line) => {
    expect(unknownCommand(line.split(" "), commands).hint).not.toMatch(/mean codecell \w+ (?:rm|prune|stop|rotate)/);
  },
);

test.each([
  ["sessions r", "sessions rm"],
  ["sessions mr", "sessions rm"],
  ["token rmm", "token rm"],
  ["packages purne", "packages prune"],
  ["sessions shwo", "sessions show"],
  ["artifacts gte", "artifacts get"],
  ["setup claude-destkop", "setup claude-desktop"],
])("codecell %s is answered with %s", (line, meant) => {
  expect(unknownCommand(line.split(" "), commands).hint).toBe(`did you mean codecell ${meant}?`);
});

test("words that resemble nothing are answered with the list of commands", () => {
  expect(unknownCommand(["constructor"], commands).hint).toContain("use one of: run, ");
  expect(unknownCommand(["sessions", "toString"], commands).hint).toContain("use one of: sessions ls");
});

test("every command that a suggestion names exists", () => {
  const named = suggestedPhrases.flatMap((text) => [...text.matchAll(/`codecell ([a-z]+)(?: ([a-z]+(?:-[a-z]+)*))?/g)]);
  expect(named.length).toBeGreaterThan(40);
  for (const [, first = "", second] of named) {
    const isKnown = names.some(
      (name) =>
        name === first || name === `${first} ${second}` || (second === undefined && name.startsWith(`${first} `)),
    );
    expect(isKnown, `codecell ${first} ${second ?? ""}`).toBe(true);
  }
});
