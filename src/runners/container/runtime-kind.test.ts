import { describe, expect, test } from "vitest";
import { chooseRuntime, runtimeKinds } from "./runtime-kind.ts";

const { container, gvisor, kata } = runtimeKinds;

describe("the runtime of a cell", () => {
  test("is the engine's default where the cell shares the host's OS kernel", () => {
    expect(chooseRuntime(container, { runtimes: ["runc", "runsc"], defaultRuntime: "runc" })).toEqual({});
    expect(chooseRuntime(container, { runtimes: ["own-build"], defaultRuntime: "own-build" })).toEqual({});
  });

  test.each(["runsc", "kata-runtime"])(
    "is not the default %s where the receipt tells of a shared OS kernel",
    (other) => {
      expect(chooseRuntime(container, { runtimes: [other, "runc"], defaultRuntime: other })).toEqual({
        runtime: "runc",
      });
      expect(chooseRuntime(container, { runtimes: [other], defaultRuntime: other })).toEqual({
        hint: container.missing,
      });
    },
  );

  test("is one with an OS kernel of its own where that is asked for, or none", () => {
    const engine = { runtimes: ["runc", "runsc"], defaultRuntime: "runc" };
    expect(chooseRuntime(gvisor, engine)).toEqual({ runtime: "runsc" });
    expect(chooseRuntime(kata, engine)).toEqual({ hint: kata.missing });
  });
});
