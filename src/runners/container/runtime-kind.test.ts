import { describe, expect, test } from "vitest";
import { chooseRuntime, runtimeKinds } from "./runtime-kind.ts";

const { container, gvisor, kata } = runtimeKinds;

describe("chooseRuntime", () => {
  test("uses the engine's default for the container runner", () => {
    expect(chooseRuntime(container, { runtimes: ["runc", "runsc"], defaultRuntime: "runc" })).toEqual({});
    expect(chooseRuntime(container, { runtimes: ["own-build"], defaultRuntime: "own-build" })).toEqual({});
  });

  test.each(["runsc", "kata-runtime"])(
    "does not use the default %s for the container runner, whose receipt promises a shared OS kernel",
    (other) => {
      expect(chooseRuntime(container, { runtimes: [other, "runc"], defaultRuntime: other })).toEqual({
        runtime: "runc",
      });
      expect(chooseRuntime(container, { runtimes: [other], defaultRuntime: other })).toEqual({
        hint: container.missing,
      });
    },
  );

  test("uses a runtime with its own OS kernel for gvisor and kata, or none", () => {
    const engine = { runtimes: ["runc", "runsc"], defaultRuntime: "runc" };
    expect(chooseRuntime(gvisor, engine)).toEqual({ runtime: "runsc" });
    expect(chooseRuntime(kata, engine)).toEqual({ hint: kata.missing });
  });
});
