import { describe, expect, test } from "vitest";
import { type CallRecord, FunctionTable } from "../../src/sessions/functions/function-table.ts";
import type { HostFunctions, JsonSchema } from "../../src/sessions/functions/host-function.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";

const takes = (properties: Record<string, JsonSchema>): JsonSchema => ({
  ...{ type: "object", properties, required: Object.keys(properties), additionalProperties: false },
});
const text = { type: "string" };

/** Calls from a cell to functions of the host behave the same on every runner. */
export function hostCallContract(session: () => LiveSession): void {
  describe("a program that calls the host", () => {
    const records: CallRecord[] = [];
    const table = (functions: HostFunctions) =>
      new FunctionTable(functions, {
        id: () => session().id,
        runNumber: (id) => id,
        fork: () => Promise.reject(new Error("no test forks here")),
        record: (call) => records.push(call),
      });

    let ended: unknown;
    let hangs = () => {};
    const functions = table({
      lookup: {
        description: "Looks a word up.",
        input: {
          ...{ type: "object", required: ["word"] },
          properties: { word: { ...text, description: "the word" }, limit: { type: "integer", default: 3 } },
        },
        call: ({ word, limit = 3 }) => ({ word, limit, found: ["ä", null, 1.5, true] }),
      },
      double: { description: "Doubles a text.", input: takes({ part: text }), call: ({ part }) => part + part },
      nothing: { description: "Returns nothing.", input: takes({}), call: () => undefined },
      fail: {
        description: "Fails.",
        input: takes({}),
        call: () => {
          throw new RangeError("the third drawer is empty");
        },
      },
      hang: {
        description: "Waits until it is cancelled.",
        input: takes({}),
        call: (_input, { signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener("abort", () => {
              ended = signal.reason;
              reject(signal.reason);
            });
            hangs();
          }),
      },
      hangShortly: {
        ...{ description: "Times out.", input: takes({}), timeoutMs: 50 },
        call: () => new Promise(() => {}),
      },
      wait: {
        description: "Waits.",
        input: takes({ ms: { type: "number" } }),
        call: ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms, "waited")),
      },
    });
    const run = (code: string, options: { timeoutMs?: number; signal?: AbortSignal } = {}) =>
      session().run(code, { ...options, functions });

    test("gets the function's value, with positional arguments, keywords and defaults", async () => {
      records.length = 0;
      const result = await run("(lookup('a'), lookup(word='b', limit=9))");
      const found = "'found': ['ä', None, 1.5, True]";
      expect(result.value).toBe(`({'word': 'a', 'limit': 3, ${found}}, {'word': 'b', 'limit': 9, ${found}})`);
      expect(records).toMatchObject([
        { name: "lookup", status: "ok", inputBytes: 22 },
        { name: "lookup", status: "ok" },
      ]);
      expect((await run("nothing()")).value).toBeUndefined();
    });

    test("sees a signature, type hints and a docstring", async () => {
      const result = await run("import inspect\nprint(inspect.signature(lookup))\nprint(lookup.__doc__)");
      expect(result.stdout).toBe("(word: 'str', limit: 'int' = 3) -> 'Any'\nLooks a word up.\n\n    word: the word\n");
    });

    test("gets a TypeError for arguments that the function does not take, before or after the host sees them", async () => {
      expect((await run("lookup()")).error?.message).toContain("missing 1 required positional argument: 'word'");
      const refused = await run("try:\n    lookup(3)\nexcept TypeError as error:\n    print(error)");
      expect(refused.stdout).toContain("lookup: word: ");
      expect(records.at(-1)).toMatchObject({ status: "refused", error: "TypeError" });
      expect((await run("lookup(object())")).error?.message).toContain("a value of type object cannot be passed");
    });

    test("is told that an integer would be rounded, instead of asking for another one", async () => {
      const { error } = await run("lookup('a', 2**53 + 1)");
      expect(error?.message).toContain("9007199254740993 is too large to pass exactly: pass it as text");
      expect((await run("lookup('9007199254740993', 2**53 - 1)['limit'] == 2**53 - 1")).value).toBe("True");
    });

    test("gets the host's error as an exception with its type and without frames of the kernel", async () => {
      const caught =
        "try:\n    fail()\nexcept ValueError as error:\n    print(type(error).__name__, error, error.type)";
      expect((await run(caught)).stdout).toBe("ValueError the third drawer is empty ValueError\n");
      const { error } = await run("fail()");
      expect(error?.name).toBe("codecell_host.ValueError");
      expect(error?.traceback).not.toContain("codecell_kernel");
    });

    test("passes and receives values of several megabytes", async () => {
      const result = await run("text = double('ab' * 1_500_000)\nlen(text), text[:2], text[-2:]");
      expect(result.value).toBe("(6000000, 'ab', 'ab')");
    });

    test("does not use up its time while it waits for the host", async () => {
      expect((await run("wait(900)", { timeoutMs: 600 })).value).toBe("'waited'");
      const own = await run("wait(50)\nimport time\ntime.sleep(30)", { timeoutMs: 600 });
      expect(own).toMatchObject({ status: "timeout", state: "kept" });
    });

    test("is told when the function takes too long, and can be interrupted while it waits", async () => {
      const late = await run("try:\n    hangShortly()\nexcept TimeoutError as error:\n    print(error)");
      expect(late.stdout).toBe("hangShortly took longer than 50 ms\n");
      const controller = new AbortController();
      const hanging = new Promise<void>((resolve) => {
        hangs = resolve;
      });
      const stopped = run("kept = 5\nhang()", { signal: controller.signal });
      await Promise.race([hanging, stopped]);
      controller.abort();
      expect(await stopped).toMatchObject({ status: "cancelled", state: "kept" });
      expect(ended).toMatchObject({
        message: expect.stringMatching(/^the (program no longer waits for it|run has ended)$/),
      });
      expect((await run("kept")).value).toBe("5");
    });

    test("keeps its functions after a reset, and loses them when they are no longer exposed", async () => {
      await session().reset();
      expect((await run("double('a')")).value).toBe("'aa'");
      const fewer = table({ other: { description: "Another.", input: takes({}), call: () => 1 } });
      const { value } = await session().run("other(), 'double' in vars(__import__('builtins'))", { functions: fewer });
      expect(value).toBe("(1, False)");
      expect((await session().variables()).map(({ name }) => name)).not.toContain("other");
    });

    test("cannot call a function that is not exposed, nor forge the end of another's call", async () => {
      const known = await run("double.__globals__['call host'].__closure__ is not None");
      expect(known.value).toBe("True");
      const forged = await run(
        [
          "import gc",
          "spec = {'name': 'secret', 'parameters': [], 'description': '', 'returns': 'Any'}",
          "functions = next(one for one in gc.get_objects() if type(one).__name__ == 'GuestFunctions')",
          "functions.function(spec)()",
        ].join("\n"),
      );
      expect(forged.error?.message).toBe('the host has no function "secret"');
    });
  });
}
