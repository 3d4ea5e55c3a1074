import { expect, test } from "vitest";
import { silentLogger } from "../../../lib/log/logger.ts";
import type { PodListener } from "../client/pod-watch.ts";
import { type PodKeeping, StartedPod } from "./started-pod.ts";
import { podSchema } from "./watched-pod.ts";

const pod = (uid: string) =>
  podSchema.parse({
    metadata: { name: "cell", uid, resourceVersion: "1" },
    spec: { nodeName: "node1" },
    status: { phase: "Running" },
  });

test.each([
  ["while it is used", "first"],
  ["before it is used", "second"],
])("a pod has ended when another one has its name (%s), as agent-sandbox's controller makes it", async (_, known) => {
  const listeners = new Set<PodListener>();
  const watch = {
    listen(_: string, listener: PodListener) {
      listeners.add(listener);
      listener(pod(known));
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    get: () => pod(known),
    whenDenied: () => ({ [Symbol.dispose]() {} }),
  };
  const held = new Set<string>();
  const keeping = { watch, held, logger: silentLogger, startMs: 60_000, api: {} } as unknown as PodKeeping;
  const started = StartedPod.adopt(keeping, pod("first"));
  for (const tell of [...listeners]) tell(pod("second"));
  expect(await started?.ending).toMatchObject({ error: { code: "cell_lost" } });
  expect([...held]).toEqual([]);
  expect(listeners.size).toBe(0);
});

test("a pod that was deleted before anybody listened for it has ended, and does not start", async () => {
  const watch = {
    listen: () => ({ [Symbol.dispose]() {} }),
    get: () => undefined,
    whenDenied: () => ({ [Symbol.dispose]() {} }),
  };
  const held = new Set<string>();
  const keeping = { watch, held, logger: silentLogger, startMs: 60_000, api: {} } as unknown as PodKeeping;
  const started = StartedPod.adopt(keeping, pod("first"));
  expect(await started?.ending).toMatchObject({ error: { code: "cell_lost" } });
  await expect(started?.running()).rejects.toMatchObject({ code: "cell_lost" });
  expect([...held]).toEqual([]);
});
