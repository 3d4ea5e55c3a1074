import { readFile, writeFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { CoreV1Api, KubeConfig, type V1Pod, VersionApi } from "@kubernetes/client-node";
import { afterAll, describe, expect, test } from "vitest";
import { skippedWithout } from "../contract/required.ts";
import { doubleAvailability } from "../fakes/kubernetes-api/availability.ts";
import { KubernetesApiDouble } from "../fakes/kubernetes-api/kubernetes-api-double.ts";
import { type Conversation, conversations, program } from "../fakes/kubernetes-api/recorded/conversations.ts";
import type { Played } from "../fakes/kubernetes-api/recorded/play.ts";
import { type Talked, talk } from "../fakes/kubernetes-api/recorded/talk.ts";

/** `node scripts/test-kubernetes record-streams` sets it: then what a real cluster says is written down. */
const { RECORD_STREAMS_IMAGE: image } = process.env;
const recordings = ["1.20", "1.36"] as const;
const fileOf = (version: string) =>
  new URL(`../fakes/kubernetes-api/recorded-streams-${version}.json`, import.meta.url);

interface Recording {
  readonly server: string;
  readonly runtime: string;
  readonly conversations: Readonly<Record<string, Talked>>;
}

if (image !== undefined) {
  test("what a real cluster says over streams is recorded", { timeout: 300_000 }, async () => {
    const config = new KubeConfig();
    config.loadFromDefault();
    const { gitVersion, major, minor } = await config.makeApiClient(VersionApi).getCode();
    const { items } = await config.makeApiClient(CoreV1Api).listNode();
    const runtime = items[0]?.status?.nodeInfo?.containerRuntimeVersion ?? "";
    const namespace = "default";
    const recording = { server: gitVersion, runtime, conversations: await allTalked(config, namespace, image) };
    await writeFile(fileOf(`${major}.${minor}`), `${JSON.stringify(recording, null, 2)}\n`);
  });
} else {
  const probe = await doubleAvailability();
  describe.each(recordings)("a pod of the fake cluster, as one of Kubernetes %s,", (version) => {
    describe("says", skippedWithout("kubernetes", probe), async () => {
      const recording = JSON.parse(await readFile(fileOf(version), "utf8")) as Recording;
      let double: KubernetesApiDouble | undefined;
      const started = (async () => {
        if (!probe.available) return {};
        double = await KubernetesApiDouble.start({ version: `${version}.0` });
        const config = new KubeConfig();
        config.loadFromFile(double.kubeconfig);
        return await allTalked(config, double.namespace, "codecell-python:test");
      })();
      void started.catch(() => {}); // each test awaits it
      afterAll(() => double?.[Symbol.asyncDispose]());

      test.each(conversations.map(({ title }) => title))("what a real one does: %s", async (title) => {
        expect((await started)[title]).toEqual(recording.conversations[title]);
      });
    });
  });
}

/** Every conversation, each with a pod of its own. */
async function allTalked(config: KubeConfig, namespace: string, image_: string): Promise<Record<string, Talked>> {
  const core = config.makeApiClient(CoreV1Api);
  const cluster = config.getCurrentCluster();
  const ca = cluster?.caData ? Buffer.from(cluster.caData, "base64") : await readFile(cluster?.caFile ?? "");
  const token = config.getCurrentUser()?.token ?? "";
  const server: Played = { url: cluster?.server ?? "", ca, tokens: { admin: token, limited: token } };
  const names = conversations.map((_, number) => `talk-${number}`);
  await Promise.all(
    conversations.map((one, number) =>
      core.createNamespacedPod({ namespace, body: podOf(one, names[number] as string, image_) }),
    ),
  );
  const talked: Record<string, Talked> = {};
  try {
    for (const [number, conversation] of conversations.entries()) {
      const name = names[number] as string;
      await hasBegun(core, namespace, name);
      talked[conversation.title] = await talk(server, `/api/v1/namespaces/${namespace}/pods/${name}`, conversation);
    }
  } finally {
    await Promise.all(names.map((name) => core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0 })));
  }
  return talked;
}

function podOf({ pod = {} }: Conversation, name: string, image_: string): V1Pod {
  return {
    metadata: { name },
    spec: {
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      securityContext: { runAsUser: 65_532, runAsGroup: 65_532, runAsNonRoot: true },
      containers: [
        {
          ...{ name: "main", image: image_, imagePullPolicy: "Never", stdin: true, ...pod },
          command: ["python3", "-I", "-u", "-c", program],
          resources: { requests: { cpu: "10m", memory: "16Mi" }, limits: { memory: "128Mi", cpu: "500m" } },
        },
      ],
    },
  };
}

/** The log tells: a container runs before its program does. */
async function hasBegun(core: CoreV1Api, namespace: string, name: string): Promise<void> {
  for (let left = 600; left > 0; left -= 1) {
    const log = await core.readNamespacedPodLog({ namespace, name }).catch(() => "");
    if (log.includes("early")) return;
    await pause(100);
  }
  throw new Error(`the program of ${name} did not begin`);
}
