import { describe, expect, test } from "vitest";
import type { LiveSession } from "../../src/sessions/live-session.ts";

/** What a person at a prompt asks of a session, the same in every runner. */
export function promptContract(opened: () => LiveSession): void {
  const texts = async (code: string) => (await opened().complete(code)).matches.map(({ text }) => text);

  describe("completion", () => {
    test("finds variables, builtins, keywords, attributes, keys, files and modules", async () => {
      const session = opened();
      await session.run("import json\nprice = {'apples': 1}\nopen('prices.csv', 'w').close()");
      expect(await texts("pri")).toEqual(["price", "print"]);
      expect(await texts("x = lamb")).toEqual(["lambda"]);
      expect(await texts("json.dum")).toEqual(["dump", "dumps"]);
      expect(await texts("price['ap")).toEqual(["apples']"]);
      expect(await texts("open('prices.")).toEqual(["prices.csv"]);
      expect(await texts("import collec")).toContain("collections");
      expect(await texts("from json import load")).toEqual(["load", "loads"]);
    });

    test("runs no code of the session, and does not count as a run", async () => {
      const session = opened();
      await session.run(
        [
          "ran = []",
          "class Trap:",
          "    def __init__(self): self.inner = 1",
          "    def __getattribute__(self, name): ran.append(name)",
          "    def __dir__(self):",
          "        while True: pass",
          "    @property",
          "    def value(self): ran.append('value')",
          "trap = Trap()",
        ].join("\n"),
      );
      const { runs } = session;
      expect(await texts("trap.")).toEqual(["inner", "value"]);
      expect(await texts("trap.value.")).toEqual([]);
      expect(session.runs).toBe(runs);
      expect(await session.get("ran")).toEqual([]);
    });

    test("is refused at once while a run is running", async () => {
      const session = opened();
      const going = session.run("import time\nprint('on', flush=True)\ntime.sleep(30)");
      for await (const _ of going) break;
      await expect(session.complete("pri")).rejects.toMatchObject({ code: "session_busy" });
      going.interrupt();
      await going;
    });
  });

  describe("inspection", () => {
    test("describes a function: signature, docstring and source", async () => {
      const session = opened();
      await session.run('def area(width, height=2):\n    """Width times height."""\n    return width * height');
      const facts = { name: "area", type: "function", signature: "area(width, height=2)", doc: "Width times height." };
      expect(await session.inspect("area")).toMatchObject(facts);
      expect(await session.inspect("area", { source: true })).toMatchObject({
        source: expect.stringContaining("    return width * height"),
      });
    });

    test("has no answer for a name that does not exist, and refuses expressions", async () => {
      const session = opened();
      expect(await session.inspect("nothing_of_this_name")).toBeUndefined();
      await expect(session.inspect("f()")).rejects.toMatchObject({ code: "usage" });
    });
  });

  test("%timeit measures a statement", async () => {
    const result = await opened().run("%timeit -n 2 -r 3 sum(range(10))");
    expect(result).toMatchObject({ status: "ok" });
    expect(result.stdout).toMatch(
      /^[\d.e+]+ \S+ ± [\d.e+]+ \S+ per loop \(mean ± std\. dev\. of 3 runs, 2 loops each\)\n$/,
    );
    expect(await opened().run("%timeit -n 2")).toMatchObject({ error: { name: "UsageError" } });
    expect(await opened().run("%timeit 1/0")).toMatchObject({ error: { name: "ZeroDivisionError" } });
  });
}
