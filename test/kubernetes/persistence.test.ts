import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import { skippedWithout } from "../contract/required.ts";
import { doubleAvailability } from "../fakes/kubernetes-api/availability.ts";
import { KubernetesApiDouble } from "../fakes/kubernetes-api/kubernetes-api-double.ts";
import { newStateDir, removeStateDir } from "../support/managers.ts";
import { onlyCell, runnerOn } from "./fake-cluster.ts";

const probe = await doubleAvailability();

describe("a persistent session", skippedWithout("kubernetes", probe), () => {
  let double: KubernetesApiDouble;
  let stateDir: string;
  beforeAll(async () => {
    if (!probe.available) return;
    double = await KubernetesApiDouble.start();
    stateDir = await newStateDir();
  });
  afterAll(async () => {
    await double?.[Symbol.asyncDispose]();
    if (stateDir !== undefined) await removeStateDir(stateDir);
  });

  test("comes back from its last save on another node when its node is lost", async () => {
    const policy = parsePolicy({ session: { persist: true } });
    await using codecell = await Codecell.open({ policy, runners: [runnerOn(double)], stateDir });
    const session = await codecell.session("kept");
    await session.run("x = [1, 2]");
    await session.save();
    const { node } = onlyCell(double);
    const ongoing = session.run("x.append(3)\nprint('on', flush=True)\nimport time\ntime.sleep(60)");
    for await (const { type } of ongoing) if (type === "stdout") break;
    double.nodes.unplug(node);
    double.nodes.declareLost(node);
    const lost = await ongoing;
    expect(lost).toMatchObject({ status: "crashed", state: "lost" });
    expect(lost.notes.join("; ")).toContain(`the pod was lost with its node ${node}`);
    const next = await (await codecell.session("kept")).run("x");
    expect(next).toMatchObject({ status: "ok", value: "[1, 2]" });
    expect(next.notes.join("; ")).toMatch(/restored|saved/);
    double.nodes.plugIn(node);
    expect(onlyCell(double).node).not.toBe(node);
  });
});
