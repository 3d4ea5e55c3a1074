import type { V1Pod } from "@kubernetes/client-node";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { KubernetesRunnerOptions } from "../../src/runners/kubernetes/runner.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { skippedWithout } from "../contract/required.ts";
import { doubleAvailability } from "../fakes/kubernetes-api/availability.ts";
import { KubernetesApiDouble } from "../fakes/kubernetes-api/kubernetes-api-double.ts";
import type { PodScenario } from "../fakes/kubernetes-api/node/pod-worker.ts";
import { podsOf, sessionsOn } from "./fake-cluster.ts";

const probe = await doubleAvailability();

describe("a pod that does not start", skippedWithout("kubernetes", probe), () => {
  let double: KubernetesApiDouble;
  const opened: LiveSessions[] = [];
  beforeAll(async () => {
    if (probe.available) double = await KubernetesApiDouble.start();
  });
  afterEach(async () => {
    for (const codecell of opened.splice(0)) await codecell.close();
    double.nodes.scenarios.length = 0;
  });
  afterAll(() => double?.[Symbol.asyncDispose]());

  const open = async (options: Partial<KubernetesRunnerOptions> = {}) => {
    const codecell = await sessionsOn(double, {}, options);
    opened.push(codecell);
    return codecell;
  };
  /** What becomes of the pods of cells. Others start as usual. */
  const cells = (scenario: PodScenario) => {
    double.nodes.scenarios.push(({ metadata }: V1Pod) =>
      metadata?.labels?.["codecell/role"] === "cell" ? scenario : undefined,
    );
  };

  test.each([
    ["ImagePullBackOff", "Back-off pulling image", "check the image's name"],
    ["CreateContainerConfigError", 'configmap "codecell-kernel" not found', "kubectl describe pod"],
    ["CreateContainerError", "the runtime refused", "kubectl describe pod"],
  ])("for %s fails at once with the reason and a hint, and is deleted", async (reason, message, hint) => {
    const codecell = await open();
    cells({ kind: "waits", reason, message });
    await expect(codecell.openSession()).rejects.toMatchObject({
      ...{ code: "cell_start_failed", message: expect.stringContaining(`${reason}: ${message}`) },
      hint: expect.stringContaining(hint),
    });
    await expect.poll(() => podsOf(double)).toEqual([]);
  });

  test("because no node has room fails after its time with the scheduler's words, and is deleted", async () => {
    const codecell = await open({ startMs: 4_000 });
    cells({ kind: "unschedulable", message: "0/2 nodes are available: 2 Insufficient memory." });
    await expect(codecell.openSession()).rejects.toMatchObject({
      code: "cell_start_failed",
      message: expect.stringContaining("Unschedulable: 0/2 nodes are available: 2 Insufficient memory."),
      hint: expect.stringContaining("add nodes"),
    });
    await expect.poll(() => podsOf(double)).toEqual([]);
  });

  test("before it is cancelled is deleted", async () => {
    const codecell = await open();
    cells({ kind: "unschedulable", message: "0/2 nodes are available" });
    const controller = new AbortController();
    const opening = codecell.openSession({ signal: controller.signal });
    await expect.poll(() => podsOf(double)).toHaveLength(1);
    controller.abort();
    await expect(opening).rejects.toMatchObject({ code: "aborted" });
    await expect.poll(() => podsOf(double)).toEqual([]);
  });
});
