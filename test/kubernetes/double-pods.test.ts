import { readFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import {
  Attach,
  CoreV1Api,
  Exec,
  KubeConfig,
  NetworkingV1Api,
  PortForward,
  type V1Pod,
  type V1Status,
} from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { skippedWithout } from "../contract/required.ts";
import { fieldAt } from "../fakes/kubernetes-api/api/api-object.ts";
import { doubleAvailability } from "../fakes/kubernetes-api/availability.ts";
import { KubernetesApiDouble } from "../fakes/kubernetes-api/kubernetes-api-double.ts";
import type { Played } from "../fakes/kubernetes-api/recorded/play.ts";
import { talk } from "../fakes/kubernetes-api/recorded/talk.ts";

const namespace = "cells";
let double: KubernetesApiDouble;
let config: KubeConfig;
let core: CoreV1Api;
let count = 0;

const probe = await doubleAvailability();

beforeAll(async () => {
  if (!probe.available) return;
  double = await KubernetesApiDouble.start();
  config = new KubeConfig();
  config.loadFromFile(double.kubeconfig);
  core = config.makeApiClient(CoreV1Api);
});
afterAll(() => double?.[Symbol.asyncDispose]());

function podOf(command: readonly string[], change: (pod: V1Pod) => void = () => {}): V1Pod {
  count += 1;
  const pod: V1Pod = {
    metadata: { name: `pod-${count}` },
    spec: {
      restartPolicy: "Never",
      securityContext: { runAsUser: 65_532, runAsGroup: 65_532, runAsNonRoot: true },
      containers: [
        {
          ...{ name: "main", image: "codecell-python:test", command: [...command], stdin: true },
          resources: { limits: { memory: "64Mi", cpu: "500m" } },
          securityContext: { readOnlyRootFilesystem: true },
          volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
        },
      ],
      volumes: [{ name: "tmp", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } }],
    },
  };
  change(pod);
  return pod;
}

async function start(pod: V1Pod): Promise<string> {
  await core.createNamespacedPod({ namespace, body: pod });
  const name = pod.metadata?.name ?? "";
  await expect.poll(() => read(name).then(({ status }) => status?.phase)).toBe("Running");
  return name;
}

const startIdle = () => start(podOf(["sleep", "60"]));

const read = (name: string) => core.readNamespacedPod({ namespace, name });

async function execute(name: string, command: string[], input?: string) {
  const stdin = input === undefined ? null : new PassThrough();
  const stdout = new PassThrough();
  const printed = text(stdout);
  const status = await new Promise<V1Status>((resolve, reject) => {
    new Exec(config).exec(namespace, name, "main", command, stdout, null, stdin, false, resolve).catch(reject);
    stdin?.end(input);
  });
  return { status, stdout: await printed };
}

describe("a pod of the fake cluster", skippedWithout("kubernetes", probe), () => {
  test("answers on its streams, as the user that it asks for, on a read-only root", async () => {
    const program = "import os, sys\nfor line in sys.stdin: print(os.getuid(), os.getpid(), line.strip(), flush=True)";
    const name = await start(podOf(["python3", "-c", program]));
    const stdin = new PassThrough();
    const stdout = new PassThrough();
    const socket = await new Attach(config).attach(namespace, name, "main", stdout, null, stdin, false);
    expect(socket.protocol).toBe("v5.channel.k8s.io");
    stdin.write("hello\n");
    for await (const chunk of stdout) {
      expect(String(chunk)).toBe("65532 1 hello\n");
      break;
    }
    socket.close();
    await core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0 });
    await expect(read(name)).rejects.toMatchObject({ code: 404 });
  });

  test("is Running only when its container has its volumes", async () => {
    const seen: string[] = [];
    const unsubscribe = double.store.subscribe(({ object: { metadata, status } }) => {
      const worker = double.nodes.worker(namespace, metadata.name);
      if (fieldAt(status, "phase") !== "Running" || worker?.process === undefined) return;
      const mounts = readFileSync(`/proc/${worker.process.pid}/mounts`, "utf8"); // at this moment, not later
      seen.push(mounts.split("\n").find((line) => line.includes(" /tmp ")) ?? "none");
    });
    await startIdle().finally(unsubscribe);
    expect(seen).toEqual([expect.stringMatching(/^tmpfs .*size=1024k/)]);
  });

  test("does not show what was printed before somebody attached, and keeps it in the log", async () => {
    const program = "print('early', flush=True)\ninput()\nprint('late', flush=True)";
    const name = await start(podOf(["python3", "-c", program]));
    const log = () => core.readNamespacedPodLog({ namespace, name });
    await expect.poll(log).toBe("early\n");
    const stdin = new PassThrough();
    const stdout = new PassThrough();
    const printed = text(stdout);
    await new Attach(config).attach(namespace, name, "main", stdout, null, stdin, false);
    stdin.write("\n");
    expect(await printed).toBe("late\n");
    await expect.poll(() => read(name).then(({ status }) => status?.phase)).toBe("Succeeded");
    expect(await log()).toBe("early\nlate\n");
  });

  test("has a volume with a size", async () => {
    const program = "try: open('/tmp/a', 'wb').write(b'x' * (2 << 20))\nexcept OSError as error: print(error.strerror)";
    const name = await startIdle();
    expect(await execute(name, ["python3", "-c", program])).toMatchObject({
      ...{ stdout: "No space left on device\n", status: { status: "Success" } },
    });
  });

  test.runIf(process.getuid?.() === 0)("reaches other pods, unless a policy forbids it and is enforced", async () => {
    const listener = "import socket\ns = socket.create_server(('', 7000))\nwhile True: s.accept()[0].close()";
    const target = await start(podOf(["python3", "-c", listener]));
    const name = await startIdle();
    const address = (await read(target)).status?.podIP ?? "";
    const connect = async () => {
      const code = `import socket\nsocket.create_connection(('${address}', 7000), 0.3)`;
      return (await execute(name, ["python3", "-c", code])).status.status;
    };
    await expect.poll(connect).toBe("Success");
    const networking = config.makeApiClient(NetworkingV1Api);
    const spec = { podSelector: {}, policyTypes: ["Ingress", "Egress"] };
    await networking.createNamespacedNetworkPolicy({ namespace, body: { metadata: { name: "closed" }, spec } });
    expect(await connect()).toBe("Success");
    await double.network?.setEngine("enforces");
    expect(await connect()).toBe("Failure");
    await networking.deleteNamespacedNetworkPolicy({ namespace, name: "closed" });
    await expect.poll(connect).toBe("Success");
  });

  test("that runs out of memory is killed and says so", async () => {
    await core.createNamespacedPod({ namespace, body: podOf(["python3", "-c", "x = b'x' * (200 << 20)"]) });
    const name = `pod-${count}`;
    await expect.poll(() => read(name).then(({ status }) => status?.phase)).toBe("Failed");
    const { status } = await read(name);
    expect(status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 137, reason: "OOMKilled" });
  });

  test("returns the output and the exit code of a program that is executed in it", async () => {
    const name = await startIdle();
    const { stdout, status } = await execute(name, ["sh", "-c", "cat; exit 7"], "input");
    expect(stdout).toBe("input");
    expect(status.details?.causes).toEqual([{ reason: "ExitCode", message: "7" }]);
  });

  test("is reached at a port of its loopback", async () => {
    const program =
      "import socket\ns = socket.create_server(('127.0.0.1', 7000))\nprint('up', flush=True)\nc = s.accept()[0]\nc.sendall(c.recv(9)[::-1])\nc.close()";
    const name = await start(podOf(["python3", "-c", program]));
    await expect.poll(() => core.readNamespacedPodLog({ namespace, name })).toBe("up\n");
    const input = new PassThrough();
    const output = new PassThrough();
    await new PortForward(config).portForward(namespace, name, [7000], output, null, input);
    input.write("abc");
    for await (const chunk of output) {
      if (chunk.length === 0) continue;
      expect(String(chunk)).toBe("cba");
      break;
    }
  });

  test("ends the connection to a port that nobody listens on although the client has not stopped talking", async () => {
    const pod = `/api/v1/namespaces/${namespace}/pods/${await startIdle()}`;
    const tokens = { admin: "test-token", limited: "" };
    const server: Played = { url: double.server.url, ca: double.certificate, tokens };
    const say = { do: "send", channel: 0, text: "hello" } as const;
    const talked = await talk(server, pod, {
      ...{ title: "talks to a closed port", path: "portforward?ports=7009" },
      acts: [say, { do: "await", channel: 1, text: "refused" }, say, say, { do: "await-end" }],
    });
    expect(talked).toMatchObject({ end: 1000 });
  });
});
