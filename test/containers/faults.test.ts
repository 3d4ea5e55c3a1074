import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import { type ContainerRunnerOptions, containerRunner, gvisorRunner } from "../../src/runners/container/runner.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import type { Run } from "../../src/sessions/runs/run.ts";
import { skipOrFail } from "../contract/required.ts";
import { image, type ListedContainer, PrivateDocker, privateDockerProbe } from "../support/private-docker.ts";
import { idle, run, skipsProcess, within } from "../support/process-cells.ts";
import { isThorough } from "../support/thorough.ts";

const probe = privateDockerProbe();
const skips = skipOrFail("container", probe);
const script = fileURLToPath(new URL("host.mjs", import.meta.url));
const built = fileURLToPath(new URL("../../dist/sessions/live-sessions.js", import.meta.url));
const kinds = [
  { name: "container", make: containerRunner },
  { name: "gvisor", make: gvisorRunner },
] as const;

describe.skipIf(skips)("container engine faults", () => {
  let docker: PrivateDocker;
  let runtimeDir: string;
  const opened: LiveSessions[] = [];
  beforeAll(async () => {
    if (!existsSync(built)) throw new Error("this test runs the built package: npm run build");
    runtimeDir = await mkdtemp(join(tmpdir(), "cc-fault-"));
    await chmod(runtimeDir, 0o711);
    docker = await PrivateDocker.start();
  });
  afterAll(async () => {
    for (const codecell of opened) await codecell.close();
    await docker?.[Symbol.asyncDispose]();
    await rm(runtimeDir, { recursive: true, force: true });
  });

  const options = (): ContainerRunnerOptions => ({ engine: "docker", addresses: docker.addresses, image, runtimeDir });
  const open = async (policy: PolicyInput = {}, make: typeof containerRunner = containerRunner) => {
    const runners = policy.isolation?.runner === "auto" ? [make(options()), processRunner()] : [make(options())];
    const codecell = await LiveSessions.open({ policy: parsePolicy(policy), runners });
    opened.push(codecell);
    return codecell;
  };
  /** Starts a run that does not end, and waits for its first output. */
  const going = async (session: LiveSession, limits = {}): Promise<{ ongoing: Run }> => {
    const run = session.run("print('on', flush=True)\nimport time\nwhile True: time.sleep(0.1)", limits);
    for await (const { type } of run) if (type === "stdout") return { ongoing: run };
    throw new Error(`it ended: ${(await run).notes.join()}`);
  };
  const only = async (): Promise<ListedContainer> => {
    await expect.poll(() => docker.containers()).toHaveLength(1); // one of an earlier test may be about to go
    const [found] = await docker.containers();
    if (!found) throw new Error("the container is gone");
    return found;
  };
  /** No container is left: neither in the daemon's list nor as a process. */
  const isEmpty = async (ms = 60_000): Promise<boolean> => {
    const end = performance.now() + ms;
    while ((await docker.containers()).length > 0 || docker.shims().length > 0) {
      if (performance.now() > end) {
        console.warn("left:", await docker.containers(), docker.shims());
        return false;
      }
      await idle(50);
    }
    return true;
  };
  const works = async (codecell: LiveSessions) => {
    await using session = await within(20_000, codecell.openSession());
    expect(await run(session, "40 + 2")).toMatchObject({ status: "ok", value: "42" });
  };

  describe.each(kinds)("a session of the $name runner", ({ name, make }) => {
    const lacks = name === "gvisor" && !skips && !PrivateDocker.hasGvisor;
    /** Asked of gVisor once, in the first test: a cell of it takes several times as long to start, with the same code. */
    const nextWorks = async (codecell: LiveSessions) => {
      if (name === "container" || isThorough) await works(codecell);
    };

    test.skipIf(lacks)("reports that somebody else removed its container, and the next session works", async () => {
      const codecell = await open({}, make);
      await using session = await codecell.openSession();
      const { ongoing } = await going(session);
      await docker.request("DELETE", `/containers/${(await only()).Id}?force=1`);
      const result = await within(10_000, ongoing);
      expect(result).toMatchObject({ status: "crashed", state: "lost", stdout: "on\n" });
      expect(result.notes.join("; ")).toMatch(/the container was killed.*the session ended/);
      expect(() => session.run("1")).toThrowError(expect.objectContaining({ code: "session_closed" }));
      await within(10_000, session.close());
      expect(await isEmpty()).toBe(true);
      await works(codecell);
    });

    // The engine's runtime stops the processes of either kind, and the host waits with the same code.
    const isRepeated = name === "gvisor" && !isThorough;
    test.skipIf(lacks || isRepeated)("times out while its container is paused, and leaves nothing behind", async () => {
      const codecell = await open({}, make);
      await using session = await codecell.openSession();
      const { Id } = await only();
      const { ongoing } = await going(session, { timeoutMs: 10_000 }); // long enough for the engine to pause it first
      await docker.request("POST", `/containers/${Id}/pause`);
      expect(await within(25_000, ongoing)).toMatchObject({ status: "timeout", state: "lost" });
      await within(25_000, session.close());
      expect(await isEmpty()).toBe(true);
      await nextWorks(codecell);
    });

    // A container's frames bypass the engine. Those of gVisor, which has its own Linux kernel, do not.
    const state = name === "gvisor" ? "lost" : "kept";
    test.skipIf(lacks)(`times out a run while its engine hangs, with its state ${state}`, async () => {
      const codecell = await open({}, make);
      await using session = await codecell.openSession();
      const { ongoing } = await going(session, { timeoutMs: 3_000 }); // long enough to print first
      docker.signal("SIGSTOP");
      try {
        expect(await within(25_000, ongoing)).toMatchObject({ status: "timeout", state });
        if (state === "kept") expect(await run(session, "40 + 2")).toMatchObject({ status: "ok", value: "42" });
        await within(25_000, session.close());
      } finally {
        docker.signal("SIGCONT");
      }
      expect(await isEmpty()).toBe(true);
      await nextWorks(codecell);
    });

    test.skipIf(lacks)("leaves no container when its host is killed", async () => {
      const host = spawn(process.execPath, [script, name, docker.host, image, runtimeDir], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const exited = once(host, "exit");
      await Promise.race([once(host.stdout, "data"), exited]);
      await expect.poll(() => docker.containers()).toHaveLength(1);
      host.kill("SIGKILL");
      await exited;
      expect(await isEmpty()).toBe(true);
    });
  });

  test("an engine that is killed ends the run with the reason; after its restart nothing is left and sessions work", async () => {
    const codecell = await open();
    await using session = await codecell.openSession();
    const { ongoing } = await going(session);
    await docker.kill();
    try {
      const result = await within(10_000, ongoing);
      expect(result).toMatchObject({ status: "crashed", state: "lost" });
      expect(result.notes.join("; ")).toMatch(/Docker cannot be reached.*the session ended/);
      await within(10_000, session.close());
      await expect(within(10_000, codecell.openSession())).rejects.toMatchObject({
        code: "runner_unavailable",
        hint: expect.stringContaining("DOCKER_HOST"),
      });
    } finally {
      await docker.up();
    }
    expect(await isEmpty()).toBe(true);
    await works(codecell);
  });

  test("an engine that hangs is reported by the next session, and works again once it resumes", async () => {
    const codecell = await open();
    await works(codecell);
    docker.signal("SIGSTOP");
    try {
      await expect(within(15_000, codecell.openSession())).rejects.toMatchObject({
        code: "runner_unavailable",
        message: expect.stringContaining("Docker did not answer"),
      });
    } finally {
      docker.signal("SIGCONT");
    }
    expect(await isEmpty()).toBe(true);
    await works(codecell);
  });

  test("an engine that hangs while a cell starts leaves no container, although it handles the request later", async () => {
    const codecell = await open();
    await works(codecell);
    for (const delayMs of [0, 10, 30, 80, 150]) {
      const opening = codecell.openSession({ signal: AbortSignal.timeout(delayMs + 100) });
      const settled = opening.then(
        (session) => session.close(),
        (error: unknown) => expect(error).toMatchObject({ code: expect.stringMatching(/aborted|runner_unavailable/) }),
      );
      await idle(delayMs);
      docker.signal("SIGSTOP");
      await idle(200);
      docker.signal("SIGCONT");
      await within(20_000, settled);
    }
    expect(await isEmpty()).toBe(true);
    await works(codecell);
  });

  test.skipIf(skipsProcess)(
    "an engine that hangs is skipped by `auto` from then on, in favour of a runner that works",
    async () => {
      const codecell = await open({ isolation: { runner: "auto" } });
      await using first = await codecell.openSession();
      expect(first.receipt.runner).toBe("container");
      docker.signal("SIGSTOP");
      try {
        await using second = await within(30_000, codecell.openSession());
        expect(second.receipt.runner).toBe("process");
        expect(await run(second, "40 + 2")).toMatchObject({ status: "ok", value: "42" });
        expect(codecell.choice.passedOver).toMatchObject([{ runner: "container" }]);
      } finally {
        docker.signal("SIGCONT");
      }
    },
  );

  test("an engine that lost its image is refused with the image's name, and works again once the image is back", async () => {
    await docker.request("POST", `/images/${image}/tag?repo=fleeting&tag=latest`);
    const kernel = { image: "fleeting:latest" };
    const named = await open({ kernel, isolation: { runner: "container" } });
    await works(named);
    await docker.request("DELETE", "/images/fleeting:latest?force=1");
    await expect(named.openSession()).rejects.toMatchObject({
      code: "policy_refused",
      message: expect.stringContaining("Docker has no image fleeting:latest"),
      hint: expect.stringContaining("codecell image build"),
    });
    await docker.request("POST", `/images/${image}/tag?repo=fleeting&tag=latest`);
    await works(named);
  });

  test("a run that the OS kills for its memory leaves the session usable", async () => {
    const codecell = await open({ proc: { memory: "128MiB", timeout: "20s" } });
    await using session = await codecell.openSession();
    const hungry =
      "import os\nfor _ in range(4):\n    if os.fork() == 0: break\nx = [bytearray(1 << 20) for _ in range(1000)]";
    const result = await within(40_000, run(session, hungry));
    expect(result.status).toBe("out_of_memory");
    expect(await run(session, "40 + 2")).toMatchObject({ status: "ok", value: "42" });
  });

  test("containers of a killed host are removed by the next runner, and no others", async () => {
    const living = await open();
    await using session = await living.openSession();
    const mine = await only();
    const host = spawn(process.execPath, [script, "container", docker.host, image, runtimeDir], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = once(host, "exit");
    await Promise.race([once(host.stdout, "data"), exited]);
    const its = (await docker.containers()).find(({ Id }) => Id !== mine.Id);
    const create = (name: string, Labels = {}) =>
      docker.request("POST", `/containers/create?name=${name}`, { Image: image, Cmd: ["/bin/sleep", "1"], Labels });
    await create("of-the-dead", its?.Labels);
    await create("of-the-living", mine.Labels);
    await create("of-another-machine", { ...its?.Labels, "codecell.machine": "another" });
    await create("of-somebody-else");
    host.kill("SIGKILL");
    await exited;
    await works(await open());
    const names = async () => (await docker.containers()).map(({ Names }) => Names[0]);
    await vi.waitFor(async () => expect(await names()).not.toContain("/of-the-dead"), {
      timeout: 20_000,
      interval: 50,
    });
    expect(await names()).toEqual(
      expect.arrayContaining(["/of-another-machine", "/of-somebody-else", "/of-the-living"]),
    );
    expect(await run(session, "40 + 2")).toMatchObject({ status: "ok" });
    for (const name of ["of-the-living", "of-another-machine", "of-somebody-else"])
      await docker.request("DELETE", `/containers/${name}?force=1`);
  });
});

describe.skipIf(skips)("a container engine whose disk is full", () => {
  test("refuses a session and names the full disk; sessions work again once there is space", async () => {
    const runtimeDir = await mkdtemp(join(tmpdir(), "cc-fault-"));
    await chmod(runtimeDir, 0o711);
    const docker = await PrivateDocker.start({ dataBytes: 256 << 20 });
    try {
      const runner = containerRunner({ engine: "docker", addresses: docker.addresses, image, runtimeDir });
      await using codecell = await LiveSessions.open({ policy: parsePolicy({}), runners: [runner] });
      await (await codecell.openSession()).close();
      const free = await docker.fill();
      await expect(within(60_000, codecell.openSession())).rejects.toMatchObject({
        code: "cell_start_failed",
        message: expect.stringContaining("no space is left where Docker stores containers"),
      });
      await free();
      await using session = await codecell.openSession();
      expect(await run(session, "40 + 2")).toMatchObject({ status: "ok", value: "42" });
    } finally {
      await docker[Symbol.asyncDispose]();
      await rm(runtimeDir, { recursive: true, force: true });
    }
  });
});
