import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { skippedWithout } from "../contract/required.ts";
import { doubleAvailability } from "../fakes/kubernetes-api/availability.ts";
import { KubernetesApiDouble } from "../fakes/kubernetes-api/kubernetes-api-double.ts";
import { type Played, type PlayedStep, play } from "../fakes/kubernetes-api/recorded/play.ts";
import { steps } from "../fakes/kubernetes-api/recorded/steps.ts";

const file = new URL("../fakes/kubernetes-api/recorded.json", import.meta.url);
/** scripts/test-kubernetes/record-contract.sh sets them: then the answers of the real server are written down. */
const { RECORD_KUBERNETES_URL: url, RECORD_KUBERNETES_CA: ca = "" } = process.env;
const tokens = { admin: "admin-token", limited: "limited-token" };

interface Recording {
  readonly server: string;
  readonly steps: readonly PlayedStep[];
}

if (url !== undefined) {
  test("the answers of the real API server are recorded", async () => {
    const server: Played = { url, ca: await readFile(ca), tokens };
    const recording: Recording = { server: "kube-apiserver 1.20.2", steps: await play(server, steps) };
    await writeFile(file, `${JSON.stringify(recording, null, 2)}\n`);
  });
} else {
  const recording = JSON.parse(await readFile(file, "utf8")) as Recording;
  const probe = await doubleAvailability();
  const played = probe.available ? await playedByDouble() : [];

  describe("the fake API server", skippedWithout("kubernetes", probe), () => {
    test("is asked what the real one was asked", () => {
      expect(played.map(({ title }) => title)).toEqual(recording.steps.map(({ title }) => title));
    });

    test.each(recording.steps.map((step) => [step.title, step] as const))("%s, as the real one", (title, step) => {
      expect(played.find((one) => one.title === title)).toEqual(step);
    });
  });
}

async function playedByDouble(): Promise<readonly PlayedStep[]> {
  const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] }];
  await using double = await KubernetesApiDouble.start({
    ...{ nodes: [], firstVersion: 100, network: "absent" },
    users: {
      [tokens.admin]: { name: "admin", grants: "everything" },
      [tokens.limited]: { name: "limited", grants: [{ namespace: "cells", rules }] },
    },
  });
  return await play({ url: double.server.url, ca: double.certificate, tokens }, steps);
}
