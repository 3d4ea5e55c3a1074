import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packageRoot } from "../../src/lib/files/package-root.ts";
import { skippedWithout } from "../contract/required.ts";
import { CodecellProcess, launcher } from "../e2e/codecell-process.ts";
import { documentsOf } from "../fakes/fake-helm/fake-helm.ts";
import type { PolicyRule } from "../fakes/kubernetes-api/api/access-rules.ts";
import { doubleAvailability } from "../fakes/kubernetes-api/availability.ts";
import { KubernetesApiDouble } from "../fakes/kubernetes-api/kubernetes-api-double.ts";
import { noPostgres, type PostgresServer, startPostgres } from "../support/postgres.ts";

const namespace = "codecell-cells";
const available = await doubleAvailability();
const probe = noPostgres === undefined ? available : { available: false as const, reason: noPostgres, hint: "" };

interface Manifests {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly policy: string;
  readonly rules: readonly PolicyRule[];
}

/** How the manifests start a gateway, and what they allow it. */
async function readManifests(): Promise<Manifests> {
  const text = await readFile(join(packageRoot(), "deploy/manifests/codecell.yaml"), "utf8");
  const all = documentsOf(text) as unknown as Record<string, never>[];
  const find = <Kind>(kind: string) => all.find((one) => one.kind === kind) as unknown as Kind;
  type Container = { args: string[]; env: { name: string; value?: string }[] };
  const deployment = find<{ spec: { template: { spec: { containers: [Container] } } } }>("Deployment");
  const [{ args, env }] = deployment.spec.template.spec.containers;
  const { data } = find<{ data: Record<string, string> }>("ConfigMap");
  return {
    args,
    env: Object.fromEntries(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]))),
    policy: data["sandbox.policy.yaml"] ?? "",
    rules: find<{ rules: PolicyRule[] }>("Role").rules,
  };
}

describe("gateways that start as the manifests say", skippedWithout("kubernetes", probe), () => {
  let double: KubernetesApiDouble;
  let postgres: PostgresServer;
  let manifests: Manifests;
  let home: string;
  const processes: CodecellProcess[] = [];
  beforeAll(async () => {
    if (!probe.available) return;
    manifests = await readManifests();
    const account = {
      name: "system:serviceaccount:codecell:codecell",
      grants: [{ namespace, rules: manifests.rules }],
    };
    [double, postgres] = await Promise.all([KubernetesApiDouble.start({ namespace, user: account }), startPostgres()]);
    home = await mkdtemp(join(tmpdir(), "cc-deployed-"));
    await writeFile(join(home, "url"), `${await postgres.newDatabase()}\n`, { mode: 0o440 });
    await writeFile(join(home, "policy.yaml"), manifests.policy);
  });
  afterAll(async () => {
    for (const { child, finished } of processes) {
      child.kill("SIGKILL");
      await finished;
    }
    await double?.[Symbol.asyncDispose]();
    await postgres?.[Symbol.asyncDispose]();
    if (home !== undefined) await rm(home, { recursive: true, force: true });
  });

  /** The variables of a pod, with the addresses, files and the image of this test. */
  function podEnvironment(port: number): Record<string, string> {
    const own = { POD_IP: "127.0.0.1", POD_NAME: `gateway-${port}` };
    const given = Object.entries(manifests.env).map(([name, value]) => [name, inPod(value, port)]);
    return {
      ...{ ...own, ...Object.fromEntries(given), XDG_STATE_HOME: join(home, String(port)), XDG_RUNTIME_DIR: home },
      ...{ CODECELL_DATABASE_URL_FILE: join(home, "url"), CODECELL_POLICY: join(home, "policy.yaml") },
      ...{ KUBECONFIG: double.kubeconfig, CODECELL_KUBERNETES_IMAGE: "codecell-python:test", CODECELL_TOKEN: "" },
    };
  }

  async function startGateway(): Promise<{ url: string; gateway: CodecellProcess; env: Record<string, string> }> {
    const port = await freePort();
    const env = podEnvironment(port);
    const args = manifests.args.map((text) => inPod(text, port));
    const gateway = new CodecellProcess(launcher, args, { env, cwd: home });
    processes.push(gateway);
    await gateway.printed("serving");
    return { url: `http://127.0.0.1:${port}`, gateway, env };
  }

  test("are ready, share tokens and sessions, and one continues what the other one gave back", async () => {
    const [first, second] = await Promise.all([startGateway(), startGateway()]);
    for (const { url } of [first, second]) expect((await fetch(`${url}/readyz`)).status).toBe(200);
    const rotated = new CodecellProcess(launcher, ["token", "rotate", "owner"], { env: first.env, cwd: home });
    const token = (await rotated.finished).stdout.trim();
    const call = async (url: string, path: string, body: object) => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const answer = await fetch(`${url}/v1/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
      return (await answer.json()) as Record<string, unknown>;
    };
    await call(first.url, "sessions", { session_id: "shared" });
    const run = (url: string, code: string) => call(url, "sessions/shared/runs", { code });
    expect(await run(first.url, "x = 41")).toMatchObject({ status: "ok", runner: "kubernetes" });
    expect(await run(second.url, "x + 1")).toMatchObject({ status: "ok", value: "42" });
    first.gateway.child.kill("SIGTERM");
    expect(await first.gateway.finished).toMatchObject({ code: 0 });
    expect(await run(second.url, "x + 2")).toMatchObject({ status: "ok", value: "43" });
  });
});

/** Tests use loopback only, and a port that is free. */
function inPod(text: string, port: number): string {
  return text.replace("$(POD_IP)", "127.0.0.1").replace("0.0.0.0", "127.0.0.1").replace("7410", String(port));
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
