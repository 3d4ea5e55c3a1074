import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { skippedWithout } from "../contract/required.ts";
import { pods } from "../fakes/kubernetes-api/api/resource-table.ts";
import { doubleAvailability } from "../fakes/kubernetes-api/availability.ts";
import { KubernetesApiDouble } from "../fakes/kubernetes-api/kubernetes-api-double.ts";
import { endlessRun, onlyCell, podsOf, sessionsOn } from "./fake-cluster.ts";

const probe = await doubleAvailability();
const namespace = "cells";

interface Loss {
  readonly how: string;
  readonly happens: (double: KubernetesApiDouble, cell: { readonly name: string; readonly node: string }) => void;
  /** what the result says about it; NODE stands for the node's name */
  readonly said: string;
  readonly status?: string;
}

const losses: readonly Loss[] = [
  {
    how: "is evicted",
    happens: ({ nodes }, { name }) => nodes.evict(namespace, name, "The node was low on resource: memory."),
    said: "the pod on the node NODE was evicted: The node was low on resource: memory.",
  },
  {
    how: "is preempted",
    happens: ({ nodes }, { name }) => nodes.preempt(namespace, name),
    said: "the pod on the node NODE was preempted by one with a higher priority",
  },
  {
    how: "is deleted by somebody else",
    happens: ({ store }, { name }) => void store.remove(pods, namespace, name),
    said: "the pod on the node NODE was deleted, but not by codecell",
  },
  {
    how: "is killed for its memory",
    happens: ({ nodes }, { name }) => nodes.outOfMemory(namespace, name),
    said: "the pod on the node NODE was killed because it ran out of memory",
    status: "out_of_memory",
  },
  {
    how: "is on a node that is lost",
    happens: ({ nodes }, { node }) => {
      nodes.unplug(node);
      nodes.declareLost(node);
    },
    said: "the pod was lost with its node NODE",
  },
];

describe("a session whose pod", skippedWithout("kubernetes", probe), () => {
  let double: KubernetesApiDouble;
  let codecell: LiveSessions;
  beforeAll(async () => {
    if (!probe.available) return;
    double = await KubernetesApiDouble.start({ nodes: ["node-a", "node-b"] });
    codecell = await sessionsOn(double);
  });
  afterAll(async () => {
    await codecell?.close();
    await double?.[Symbol.asyncDispose]();
  });

  test.each(losses)("$how ends with the node's name and what is left, and the next one works", async (loss) => {
    await using session = await codecell.openSession();
    const cell = onlyCell(double);
    const { ongoing } = await endlessRun(session);
    loss.happens(double, cell);
    const result = await ongoing;
    double.nodes.plugIn(cell.node);
    expect(result).toMatchObject({ status: loss.status ?? "crashed", state: "lost", stdout: "on\n" });
    expect(result.notes.join("; ")).toContain(loss.said.replace("NODE", cell.node));
    expect(() => session.run("1")).toThrowError(expect.objectContaining({ code: "session_closed" }));
    await session.close();
    await expect.poll(() => podsOf(double)).toEqual([]);
    await using next = await codecell.openSession();
    expect(await next.run("40 + 2")).toMatchObject({ status: "ok", value: "42" });
  });

  test("loses its connection goes on as if nothing had happened", async () => {
    await using session = await codecell.openSession();
    const { name } = onlyCell(double);
    const going = session.run("for n in range(40):\n    print(n, flush=True)\n    import time; time.sleep(0.01)");
    for await (const { type } of going) {
      if (type !== "stdout") continue;
      double.dropStreams(name);
      break;
    }
    const numbers = Array.from({ length: 40 }, (_, n) => `${n}\n`).join("");
    expect(await going).toMatchObject({ status: "ok", state: "kept", stdout: numbers });
  });

  test("is attached to and loses its connection ends with the node's name, and the pod is deleted", async () => {
    await using attached = await sessionsOn(double, {}, { channel: "attach" });
    await using session = await attached.openSession();
    const { name, node } = onlyCell(double);
    const { ongoing } = await endlessRun(session);
    double.dropStreams(name);
    const result = await ongoing;
    expect(result).toMatchObject({ status: "crashed", state: "lost" });
    expect(result.notes.join("; ")).toContain(`the connection to the pod on the node ${node} broke`);
    await session.close();
    await expect.poll(() => podsOf(double)).toEqual([]);
  });
});
