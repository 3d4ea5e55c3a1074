import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import { addressFacts, type EngineKind } from "../../src/runners/container/engine/engine-address.ts";
import { containerRunner } from "../../src/runners/container/runner.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { engineClient } from "../support/container-engines.ts";
import { comparable, type OciConfig, ociConfigOf } from "../support/oci-config.ts";
import { run } from "../support/process-cells.ts";
import { engineFor } from "./context.ts";

const hosts = { docker: engineFor("container"), podman: engineFor("podman") } as const;
const { mountable } = inject("containers");
/** Cells never run as root, so what they write belongs to somebody else. */
const ordinaryUid = 54_321;
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(mountable, "podman-"));
  await chmod(directory, 0o711);
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** Sessions of one engine, with a directory that tells their containers from others. */
async function openIn(kind: EngineKind, policy: PolicyInput) {
  const host = hosts[kind] ?? "";
  const runtimeDir = join(directory, kind);
  await mkdir(runtimeDir, { recursive: true, mode: 0o711 });
  const addresses = addressFacts(kind === "docker" ? { DOCKER_HOST: host } : { CONTAINER_HOST: host });
  const runners = [containerRunner({ engine: kind, addresses, runtimeDir })];
  const client = await engineClient(kind, host);
  const containers = async () => {
    const query = { all: true, filters: JSON.stringify({ label: ["codecell.owner"] }) };
    const path = "/containers/json";
    const listed = await client.json<{ Id: string; Labels: Record<string, string> }[]>({ path, query });
    return listed.filter(({ Labels }) => Labels["codecell.lock"]?.startsWith(runtimeDir)).map(({ Id }) => Id);
  };
  return { codecell: await LiveSessions.open({ policy: parsePolicy(policy), runners }), client, containers };
}

/**
 * Podman's cells have the programs, the Linux kernel and the runtime of Docker's. If both runtimes get the same orders, what is asked
 * inside a cell of Docker is answered for Podman too: the contract and the attacks do not ask it again.
 */
describe.skipIf(hosts.docker === undefined || hosts.podman === undefined)("what Podman tells its runtime", () => {
  const policies: readonly (readonly [string, () => PolicyInput])[] = [
    ["the default policy", () => ({})],
    [
      "small limits and directories of the host",
      () => ({
        proc: { cpus: 0.5, memory: "128MiB", pids: 24, files: 64, disk: "8MiB" },
        net: { enabled: true, allowlist: ["good.example"] },
        fs: {
          ...{ workspace: join(directory, "work"), deps: join(directory, "deps") },
          mounts: [
            { source: join(directory, "readable"), target: "/data" },
            { source: join(directory, "writable"), target: "/out", mode: "rw" },
          ],
        },
      }),
    ],
  ];
  beforeAll(async () => {
    for (const name of ["work", "deps", "readable/.ssh", "writable"])
      await mkdir(join(directory, name), { recursive: true });
    await writeFile(join(directory, "readable/.env"), "secret");
    for (const name of ["work", "writable"]) await chown(join(directory, name), ordinaryUid, ordinaryUid);
  });

  const configOf = async (kind: EngineKind, policy: PolicyInput): Promise<OciConfig> => {
    const { codecell, client, containers } = await openIn(kind, policy);
    await using _ = codecell;
    await using session = await codecell.openSession();
    const [id = "", ...others] = await containers();
    expect(others).toEqual([]);
    const config = await ociConfigOf(client, kind, id);
    expect(await run(session, "40 + 2")).toMatchObject({ value: "42" });
    return config;
  };

  test.each(policies)("is what Docker tells its own, under %s", async (_, policy) => {
    const [docker, podman] = await Promise.all([configOf("docker", policy()), configOf("podman", policy())]);
    expect(comparable(podman, directory)).toEqual(comparable(docker, directory));
    // what is hidden or fixed in Docker is so in Podman, which adds its own list
    expect(podman.linux.maskedPaths).toEqual(expect.arrayContaining([...(docker.linux.maskedPaths ?? [])]));
    expect(podman.linux.readonlyPaths).toEqual(expect.arrayContaining([...(docker.linux.readonlyPaths ?? [])]));
  });
});

/** What Podman's service itself does: it starts containers, carries their bytes, and removes them. */
describe.skipIf(hosts.podman === undefined)("a session in Podman", () => {
  let opened: Awaited<ReturnType<typeof openIn>>;
  let session: LiveSession;
  beforeAll(async () => {
    opened = await openIn("podman", { proc: { timeout: "20s" } });
    session = await opened.codecell.openSession();
  });
  afterAll(() => opened?.codecell.close());

  test("returns the output and the value of a run, and keeps its variables", async () => {
    const first = await run(session, "import sys\nx = 6\nprint('out')\nprint('err', file=sys.stderr)\nx * 7");
    expect(first).toMatchObject({ status: "ok", value: "42", stdout: "out\n", stderr: "err\n" });
    expect(await run(session, "x")).toMatchObject({ value: "6" });
    expect(await run(session, "echo $((6 * 7))", { language: "bash" })).toMatchObject({ stdout: "42\n" });
  });

  test("exchanges megabytes with its host", async () => {
    const bytes = Buffer.alloc(5_000_000, "0123456789");
    await session.set("blob", bytes);
    expect((await session.getBytes("blob")).equals(bytes)).toBe(true);
  });

  test("reports its use of the processor and of memory", async () => {
    const usage = await session.usage();
    expect(usage.cpuMs).toBeGreaterThan(0);
    expect(usage.memoryBytes).toBeGreaterThan(0);
  });

  test("is recovered after a crash of its interpreter, and stopped at its time limit", async () => {
    await session.reset();
    await run(session, "x = 1");
    expect(await run(session, "import os\nos._exit(9)")).toMatchObject({ status: "crashed", state: "recovered" });
    expect(await run(session, "while True: pass", { timeoutMs: 300 })).toMatchObject({ status: "timeout" });
    expect(await run(session, "x")).toMatchObject({ value: "1" });
  });

  test("is not opened after a cancellation, at whatever moment that comes", async () => {
    const { codecell, containers } = opened;
    for (const delayMs of [0, 5, 20, 60]) {
      const signal = delayMs === 0 ? AbortSignal.abort(new Error("changed my mind")) : AbortSignal.timeout(delayMs);
      await codecell.openSession({ signal }).then(
        (one) => one.close(), // it opened before the abort
        (error: unknown) => expect(error).toMatchObject({ code: "aborted" }),
      );
    }
    await expect.poll(containers, { timeout: 30_000 }).toHaveLength(1);
  });

  test("that is closed leaves no container", async () => {
    const { codecell, containers } = opened;
    const before = await containers();
    const other = await codecell.openSession();
    expect(await containers()).toHaveLength(before.length + 1);
    await other.close();
    expect(await containers()).toEqual(before);
  });

  test("is refused with the rule's name if its image is missing", async () => {
    await expect(openIn("podman", { kernel: { image: "no-such-image:none" } })).rejects.toMatchObject({
      code: "policy_refused",
      message: expect.stringContaining("kernel.image"),
    });
  });
});
