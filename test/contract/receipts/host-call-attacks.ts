import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { SessionTools } from "../../../src/service/upstreams/session-tools.ts";
import { Upstreams } from "../../../src/service/upstreams/upstreams.ts";
import type { Session } from "../../../src/sessions/session.ts";
import { connectUpstream } from "../../../src/surfaces/mcp/connect-upstream.ts";
import { type Attack, printed } from "./attacked.ts";

/** Names that would lead to a model. */
const modelNames = ["llm_query", "llm_query_batched", "rlm_query", "rlm_query_batched", "SUBMIT", "budget"];

/** Which of these names a program finds: among its own, in builtins, and in every module of the kernel. */
const findNames = (names: readonly string[]) => `
import builtins
modules = [module for name, module in list(sys.modules.items()) if name.startswith("codecell")]
places = [globals(), vars(builtins), *[vars(module) for module in modules]]
print(json.dumps([name for name in ${JSON.stringify(names)} if any(name in place for place in places)]))`;

/** A program that looks everywhere finds no function that calls a model. */
export const noModelFunctions: Attack = async ({ session }) => {
  expect(await printed(await session(), findNames(modelNames))).toEqual([]);
};

/** A program finds no function of the host at all: neither among the built-in names nor where such functions come from. */
export const noToolFunctions: Attack = async ({ session }) => {
  const code = `
import builtins
module = sys.modules.get("codecell_host")
found = [name for name, value in vars(builtins).items() if getattr(value, "__module__", "") == "codecell_host"]
found += [name for name, value in vars(module).items() if callable(value) and not isinstance(value, type)] if module else []
print(json.dumps(found))`;
  expect(await printed(await session(), code)).toEqual([]);
};

const toolServer = fileURLToPath(new URL("../../fakes/tool-server.mjs", import.meta.url));

/** An attack by a program that has functions for the tools of a real server. */
function withTools(attack: (session: Session, notes: string) => Promise<void>): Attack {
  return async ({ fresh, place }) => {
    const notes = place.path(`notes-${performance.now()}`);
    const server = {
      kind: "stdio",
      name: "test",
      command: process.execPath,
      args: [toolServer, "good", notes],
    } as const;
    await using upstreams = new Upstreams({ servers: [{ ...server, env: {} }], connect: connectUpstream });
    const session = await fresh();
    await new SessionTools(upstreams).prepare(session);
    await attack(session, notes);
    await session.close({ forget: true });
  };
}

/** Python that says what a call gave, or the kind of failure and its message. */
const attempting = (...calls: string[]) => `
def attempt(call):
    try: return call()
    except Exception as error: return [getattr(error, "type", type(error).__name__), str(error)]
print(json.dumps([${calls.map((call) => `attempt(lambda: ${call})`).join(", ")}]))`;

export const onlyPermittedTools: Attack = withTools(async (session, notes) => {
  const names = "sorted(name for name in dir(__import__('builtins')) if name.startswith('test_'))";
  const [found, forged, other] = await printed<[string[], string[], string[]]>(
    session,
    `
import gc
functions = next(one for one in gc.get_objects() if type(one).__name__ == "GuestFunctions")
def forged(name): return functions.function({"name": name, "parameters": [], "description": "", "returns": "Any"})()
${attempting(names, "forged('test_write_note')", "forged('test/write_note')")}`,
  );
  expect(found).toContain("test_plain");
  expect(found).not.toContain("test_write_note");
  expect(found).not.toContain("test_unmarked");
  for (const answer of [forged, other])
    expect(answer).toMatchObject(["HostError", expect.stringMatching(/the host has no function/)]);
  await expect(readFile(notes)).rejects.toThrow();
  // a server that takes the read-only mark of a tool back, after the program got a function for it
  expect(await printed(session, attempting("test_victim()", "test_swap()"))).toEqual(["called", "swapped"]);
  const later = () => printed(session, attempting("test_victim()"));
  const refused = [["PermissionError", "tools.allow does not permit test/victim, which may change something"]];
  await expect.poll(later, { timeout: 10_000 }).toEqual(refused);
});

export const toolCallsCounted: Attack = withTools(async (session) => {
  const calls = Array.from({ length: 6 }, () => "test_plain()");
  const answers = await printed<unknown[]>(session, attempting(...calls));
  expect(answers.map((answer) => (Array.isArray(answer) ? answer[0] : answer))).toEqual([
    ...["only text", "only text", "only text", "only text", "PermissionError", "PermissionError"],
  ]);
});

export const toolsCancelled: Attack = withTools(async (session) => {
  const before = performance.now();
  expect(await printed(session, attempting("test_hang()"))).toMatchObject([
    ["TimeoutError", expect.stringMatching(/within 500ms/)],
  ]);
  expect(performance.now() - before).toBeLessThan(15_000);
});

export const argumentsMeasured: Attack = withTools(async (session) => {
  const answers = await printed(
    session,
    attempting("test_echo('x' * 900)['from'] == 'x' * 900", "test_echo('x' * 1100)"),
  );
  expect(answers).toMatchObject([true, ["PermissionError", expect.stringMatching(/tools.arguments permits 1KiB/)]]);
});

export const resultsMeasured: Attack = withTools(async (session) => {
  const answers = await printed(session, attempting("len(test_big(2000))", "test_big(2100)", "test_big(30_000_000)"));
  expect(answers).toMatchObject([
    2000,
    ["PermissionError", expect.stringMatching(/tools.result permits 2KiB/)],
    [expect.stringMatching(/PermissionError|TimeoutError|ServerUnavailable/), expect.any(String)],
  ]);
});
