import { describe, expect, test } from "vitest";
import { deletedEnding, endingOf, starting, tooLate } from "./pod-state.ts";
import { podSchema } from "./watched-pod.ts";

const pod = (status: object, metadata: object = {}) =>
  podSchema.parse({
    metadata: { name: "p", uid: "u", resourceVersion: "1", labels: {}, ...metadata },
    spec: { nodeName: "n1" },
    status,
  });
const container = (state: object) => ({ containerStatuses: [{ imageID: "sha256:1", state }] });

describe("the start of a pod", () => {
  test("is over when its container runs, and the image is known", () => {
    expect(starting(pod({ phase: "Running", ...container({ running: {} }) }))).toEqual({
      kind: "running",
      imageId: "sha256:1",
    });
  });

  test.each(["ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError"])(
    "fails at once for %s, with what to do",
    (reason) => {
      const state = starting(pod({ phase: "Pending", ...container({ waiting: { reason, message: "why" } }) }));
      expect(state).toMatchObject({
        kind: "failed",
        error: { code: "cell_start_failed", message: `the pod cannot start: ${reason}: why` },
      });
      expect(state.kind === "failed" && state.error.hint).toMatch(/\w/);
    },
  );

  test("waits for what may pass, and says what it was when time is up", () => {
    const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/2 nodes" }];
    const waiting = pod({ phase: "Pending", conditions });
    expect(starting(waiting)).toEqual({ kind: "waiting", why: "Unschedulable: 0/2 nodes" });
    expect(tooLate(waiting, 60_000)).toMatchObject({
      message: "the pod did not start within 60 s: Unschedulable: 0/2 nodes",
      hint: expect.stringContaining("add nodes or close sessions"),
    });
    expect(starting(pod({ phase: "Pending", ...container({ waiting: { reason: "ErrImagePull" } }) })).kind).toBe(
      "waiting",
    );
  });

  test("fails with what the first process wrote about itself", () => {
    const terminated = { exitCode: 6, reason: "Error", message: "the cell has a network\n" };
    expect(starting(pod({ phase: "Failed", ...container({ terminated }) }))).toMatchObject({
      error: {
        message: "the cell exited before it was ready (exit code 6): the cell has a network",
        details: { node: "n1" },
      },
    });
  });
});

describe("the end of a pod", () => {
  test.each([
    [
      "evicted",
      { phase: "Failed", reason: "Evicted", message: "low on memory" },
      "the pod on the node n1 was evicted: low on memory",
    ],
    [
      "past its deadline",
      { phase: "Failed", reason: "DeadlineExceeded" },
      "the pod on the node n1 reached the session's lifetime",
    ],
    [
      "preempted",
      { phase: "Failed", reason: "Preempting" },
      "the pod on the node n1 was preempted by one with a higher priority",
    ],
    ["lost", { phase: "Running", reason: "NodeLost" }, "the pod was lost with its node n1"],
    [
      "on a node that shuts down",
      { phase: "Failed", reason: "Terminated" },
      "the pod ended because its node n1 shuts down",
    ],
    [
      "exited",
      { phase: "Failed", ...container({ terminated: { exitCode: 3 } }) },
      "the pod's process on the node n1 exited with code 3",
    ],
  ])("names the node of one that is %s", (_, status, message) => {
    expect(endingOf(pod(status)).error).toMatchObject({ code: "cell_lost", message, details: { node: "n1" } });
  });

  test("tells a pod that ran out of memory", () => {
    const ending = endingOf(
      pod({ phase: "Failed", ...container({ terminated: { exitCode: 137, reason: "OOMKilled" } }) }),
    );
    expect(ending).toMatchObject({ exitCode: 137, isOutOfMemory: true });
  });

  test("tells a deletion by somebody else from the loss of a node", () => {
    const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z" };
    expect(endingOf(pod({ phase: "Running" }, deleted)).error.message).toBe(
      "the pod on the node n1 was deleted, but not by codecell",
    );
    const conditions = [
      { type: "Ready", status: "False" },
      { type: "ContainersReady", status: "True" },
    ];
    expect(endingOf(pod({ phase: "Running", conditions }, deleted)).error.message).toBe(
      "the pod was lost with its node n1",
    );
    expect(deletedEnding(undefined).error.message).toBe("the pod was deleted, but not by codecell");
    expect(deletedEnding(pod({ phase: "Failed", reason: "Evicted" })).error.message).toContain("evicted");
  });
});
