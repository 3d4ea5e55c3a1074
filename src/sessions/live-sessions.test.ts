import { describe, expect, test } from "vitest";
import { FakeRunner } from "../../test/fakes/fake-runner.ts";
import { CodecellError } from "../lib/errors.ts";
import { parsePolicy } from "../policy/file/parse-policy.ts";
import type { PolicyInput } from "../policy/schema.ts";
import type { Probe } from "../runners/runner.ts";
import { LiveSessions } from "./live-sessions.ts";

const silent = new CodecellError("runner_unavailable", "the engine does not answer", { hint: "restart it" });

/** An engine that answers at first, and then does not. */
function failingEngine(error: CodecellError = silent) {
  let isUp = true;
  class Engine extends FakeRunner {
    override async probe(): Promise<Probe> {
      return isUp ? super.probe() : { available: false, reason: error.message, hint: "" };
    }
  }
  const beforeStart = () => {
    if (!isUp) throw error;
  };
  return {
    runner: new Engine({ name: "container", beforeStart }),
    fail: () => {
      isUp = false;
    },
  };
}

const open = (policy: PolicyInput, ...runners: FakeRunner[]) =>
  LiveSessions.open({ policy: parsePolicy(policy), runners });

describe("when a runner fails after it was chosen", () => {
  test.each([silent, new CodecellError("policy_refused", "refuses kernel.image: it is gone")])(
    "`auto` takes the next best runner if the chosen one fails, for this session and later ones ($code)",
    async (error) => {
      const engine = failingEngine(error);
      const process = new FakeRunner({ name: "process" });
      await using codecell = await open({}, engine.runner, process);
      await using first = await codecell.openSession();
      expect(first.receipt.runner).toBe("container");
      engine.fail();
      await using second = await codecell.openSession();
      await using third = await codecell.openSession();
      expect([second.receipt.runner, third.receipt.runner]).toEqual(["process", "process"]);
      expect(codecell.choice.passedOver).toMatchObject([{ runner: "container", reason: error.message }]);
      expect(second.receipt.notes).toContain(`not container: ${error.message}`);
      expect(first.receipt.notes.join()).not.toContain("not container");
    },
  );

  test("a policy that names a failing runner gets its error, and no other runner is tried", async () => {
    const engine = failingEngine();
    const process = new FakeRunner({ name: "process" });
    await using codecell = await open({ isolation: { runner: "container" } }, engine.runner, process);
    engine.fail();
    await expect(codecell.openSession()).rejects.toBe(silent);
    expect(process.started).toEqual([]);
  });

  test("a failing runner is not replaced by one below isolation.minimum", async () => {
    const engine = failingEngine();
    const process = new FakeRunner({ name: "process" });
    await using codecell = await open({ isolation: { minimum: "container" } }, engine.runner, process);
    engine.fail();
    await expect(codecell.openSession()).rejects.toMatchObject({ code: "policy_refused" });
    expect(process.started).toEqual([]);
  });

  test("`auto` takes the next best runner if the chosen one fails while the cell starts", async () => {
    const engine = new FakeRunner({ name: "container", endsEarly: { code: null, reason: silent } });
    engine.probe = async () =>
      engine.started.length === 0
        ? { available: true, version: "1", guarantees: [] }
        : { available: false, reason: "gone", hint: "" };
    const process = new FakeRunner({ name: "process" });
    await using codecell = await open({}, engine, process);
    await using session = await codecell.openSession();
    expect(session.receipt.runner).toBe("process");
    expect(engine.openCells).toBe(0);
  });

  test("a runner is skipped if its probe succeeds but its plan fails", async () => {
    const engine = new FakeRunner({ name: "container" });
    engine.plan = () => Promise.reject(silent);
    await using codecell = await open({}, engine, new FakeRunner({ name: "process" }));
    expect(codecell.runner).toBe("process");
    expect(codecell.choice.passedOver).toMatchObject([{ runner: "container", reason: silent.message }]);
  });
});

describe("a start that fails in an available runner", () => {
  test("a failed start does not move sessions to a weaker runner: files in the workspace may be the cause", async () => {
    const failure = new CodecellError("cell_start_failed", "its files exceed proc.disk (8MiB)");
    const beforeStart = () => {
      throw failure;
    };
    const weaker = new FakeRunner({ name: "wasm" });
    await using codecell = await open({}, new FakeRunner({ name: "process", beforeStart }), weaker);
    await expect(codecell.openSession()).rejects.toBe(failure);
    expect(codecell.runner).toBe("process");
    expect(weaker.started).toEqual([]);
  });
});

describe("a cell that exits before it is ready", () => {
  test("the error for a cell that exits early has its exit code and the last line of the sandbox's output", async () => {
    const diagnostics = "a first line\na mounted directory was replaced by another one\n";
    const runner = new FakeRunner({ endsEarly: { code: 5, diagnostics } });
    await using codecell = await open({}, runner);
    await expect(codecell.openSession()).rejects.toMatchObject({
      code: "cell_start_failed",
      message: "the cell exited before it was ready (exit code 5): a mounted directory was replaced by another one",
      details: { diagnostics: diagnostics.trim() },
    });
    expect(runner.openCells).toBe(0);
  });

  test("the error for a cell that exits early without output has the runner's reason", async () => {
    const reason = new CodecellError("cell_lost", "the container was killed");
    await using codecell = await open({}, new FakeRunner({ endsEarly: { code: 137, reason } }));
    await expect(codecell.openSession()).rejects.toMatchObject({
      code: "cell_start_failed",
      message: "the cell exited before it was ready (exit code 137): the container was killed",
    });
  });
});

test("a result says that the policy limits runs to less than the time that the caller asked for", async () => {
  await using codecell = await open({ proc: { timeout: "2s" } }, new FakeRunner());
  await using session = await codecell.openSession();
  expect((await session.run("1", { timeoutMs: 3_600_000 })).notes).toEqual(["the policy limits runs to 2s"]);
  expect((await session.run("1", { timeoutMs: 2_000 })).notes).toEqual([]);
  expect((await session.run("1")).notes).toEqual([]);
});

test("wrong argument types from JavaScript are rejected with a usage error, and the session stays usable", async () => {
  await using codecell = await open({}, new FakeRunner());
  await using session = await codecell.openSession();
  const circle: Record<string, unknown> = {};
  circle.itself = circle;
  for (const [value, why] of [
    [circle, "more than 1000 levels, or a value that contains itself"],
    [1n, "a BigInt"],
    [() => 1, "a function"],
    [undefined, "undefined"],
    [{ sizes: [1, Number.NaN] }, "NaN at sizes[1]"],
    [new Map([[1, 2]]), "an instance of Map"],
  ] as const) {
    await expect(session.set("x", value)).rejects.toMatchObject({
      code: "variable_unserializable",
      message: `the value for x cannot be converted to JSON: ${why}`,
    });
  }
  for (const code of [undefined, 1, { code: "1" }]) {
    expect(() => session.run(code as unknown as string)).toThrow(CodecellError);
  }
  expect((await session.run("1")).status).toBe("ok");
});
