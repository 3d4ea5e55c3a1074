import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { skippedWithout } from "../contract/required.ts";
import { doubleAvailability } from "../fakes/kubernetes-api/availability.ts";
import { KubernetesApiDouble } from "../fakes/kubernetes-api/kubernetes-api-double.ts";
import { endlessRun, leftIn, onlyCell, podsOf, sessionsOn } from "./fake-cluster.ts";

const probe = await doubleAvailability();
const namespace = "cells";

describe("with an API server that", skippedWithout("kubernetes", probe), () => {
  let double: KubernetesApiDouble;
  let codecell: LiveSessions;
  beforeAll(async () => {
    if (!probe.available) return;
    double = await KubernetesApiDouble.start();
    codecell = await sessionsOn(double);
  });
  afterAll(async () => {
    await codecell?.close();
    await double?.[Symbol.asyncDispose]();
  });

  const works = async () => {
    await using session = await codecell.openSession();
    expect(await session.run("40 + 2")).toMatchObject({ status: "ok", value: "42" });
  };

  test("drops watches, what happened meanwhile is noticed", async () => {
    await using session = await codecell.openSession();
    const { name } = onlyCell(double);
    const { ongoing } = await endlessRun(session);
    double.dropWatches();
    double.nodes.evict(namespace, name);
    expect((await ongoing).notes.join("; ")).toContain("was evicted");
    await session.close();
    await works();
  });

  test("has forgotten the version that a watch resumes from, the pods are listed again", async () => {
    await using session = await codecell.openSession();
    const { name } = onlyCell(double);
    const { ongoing } = await endlessRun(session);
    double.nodes.evict(namespace, name);
    double.store.compact();
    double.dropWatches();
    expect((await ongoing).notes.join("; ")).toContain("was evicted");
    await session.close();
    await works();
  });

  test("restarts, sessions go on and new ones open", async () => {
    await using session = await codecell.openSession();
    await session.run("kept = 1");
    const ongoing = session.run("import time\ntime.sleep(0.3)\nkept + 41");
    await double.restartServer();
    expect(await ongoing).toMatchObject({ status: "ok", state: "kept", value: "42" });
    await works();
    expect(await session.run("kept")).toMatchObject({ value: "1" });
  });

  test("is busy, requests are repeated as late as it asks for", async () => {
    double.refuseNext(2, 0, (verb, resource) => verb === "create" && resource === "pods");
    await works();
  });

  test("is closed after use, nothing is left but the kernel", async () => {
    await works();
    await codecell.close(); // the last test of this file
    await expect.poll(() => leftIn(double)).toEqual([expect.stringMatching(/^configmaps codecell-kernel-/)]);
    await expect.poll(() => podsOf(double)).toEqual([]);
    await expect.poll(() => double.nodes.runningCount).toBe(0);
    await expect.poll(() => double.server.watches.size).toBe(0);
    await expect.poll(() => double.streams.open.size).toBe(0);
  });
});
