import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import { addressFacts } from "../../src/runners/container/engine/engine-address.ts";
import { defaultImage } from "../../src/runners/container/image/default-image.ts";
import { containerRunner, gvisorRunner } from "../../src/runners/container/runner.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { engineClient } from "../support/container-engines.ts";
import { run, within } from "../support/process-cells.ts";
import { isThorough } from "../support/thorough.ts";
import { engineFor } from "./context.ts";

const kinds = [
  { needed: "container", kind: "docker", make: containerRunner },
  { needed: "gvisor", kind: "docker", make: gvisorRunner },
  { needed: "podman", kind: "podman", make: containerRunner },
] as const;

/** gVisor gets the same request from the same code as Docker's own runtime; faults.test.ts takes its container away. */
const asked = kinds.filter(({ needed }) => isThorough || needed !== "gvisor" || engineFor("container") === undefined);

describe.each(asked)("on an unusual host, $needed", ({ needed, kind, make }) => {
  const host = engineFor(needed);
  let runtimeDir: string;
  beforeAll(async () => {
    runtimeDir = await mkdtemp(join(tmpdir(), "cc-host-"));
    await chmod(runtimeDir, 0o711);
  });
  afterAll(() => rm(runtimeDir, { recursive: true, force: true }));
  const open = (policy: PolicyInput = {}) => {
    const env = kind === "docker" ? { DOCKER_HOST: host } : { CONTAINER_HOST: host };
    const addresses = addressFacts(env);
    return LiveSessions.open({
      policy: parsePolicy(policy),
      runners: [make({ engine: kind, addresses, image: defaultImage(), runtimeDir })],
    });
  };

  test.skipIf(host === undefined)("starts a cell whose policy allows more processors than the host has", async () => {
    await using codecell = await open({ proc: { cpus: 256 } });
    await using session = await codecell.openSession();
    expect(session.receipt.rules.find(({ rule }) => rule === "proc.cpus")?.how).toContain("available");
    expect(await run(session, "40 + 2")).toMatchObject({ value: "42" });
  });

  test.skipIf(host === undefined)("recreates kernel files that something deleted", async () => {
    await using codecell = await open();
    await using first = await codecell.openSession();
    const kernels = (await readdir(runtimeDir)).filter((name) => name.startsWith("kernel-"));
    expect(kernels).not.toEqual([]);
    for (const name of kernels) await rm(join(runtimeDir, name), { recursive: true });
    await using second = await codecell.openSession();
    expect(await run(second, "40 + 2")).toMatchObject({ value: "42" });
    expect(first.isAlive).toBe(true);
  });

  test.skipIf(host === undefined)("reports that somebody else killed the container", async () => {
    await using codecell = await open();
    await using session = await codecell.openSession();
    const result = await within(30_000, killedIn(session));
    expect(result).toMatchObject({ status: "crashed", state: "lost" });
    expect(result.notes.join("; ")).toMatch(/the container was (killed|stopped, but not by codecell)/);
  });

  /** A run whose container is killed right after its start. */
  async function killedIn(session: LiveSession) {
    const going = session.run("print('on', flush=True)\nimport time\nwhile True: time.sleep(0.1)");
    for await (const { type } of going) if (type === "stdout") break;
    const client = await engineClient(kind, host ?? "");
    const query = { filters: JSON.stringify({ label: ["codecell.owner"] }) };
    type Listed = { Id: string; Labels: Record<string, string> };
    // a busy engine lists a container as running only after its program has begun
    const own = await vi.waitFor(async () => {
      const listed = await client.json<Listed[]>({ path: "/containers/json", query });
      const found = listed.filter(({ Labels }) => Labels["codecell.lock"]?.startsWith(runtimeDir));
      expect(found).not.toEqual([]);
      return found;
    }, 20_000);
    // Once: a busy engine may report a failure although it has killed the container, and then lists it no more.
    const kill = ({ Id }: Listed) => client.bytes({ method: "POST", path: `/containers/${Id}/kill` });
    await Promise.allSettled(own.map(kill));
    return await going;
  }
});
