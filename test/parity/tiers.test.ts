import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { availableParallelism, homedir, hostname, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CodecellError } from "../../src/lib/errors.ts";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { syscallNumber } from "../../src/runners/linux/seccomp/syscalls.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { isMissing, type Tier, tiers } from "../support/tiers.ts";
import { type Probe, prelude, type Verdict } from "./probe.ts";
import { probes } from "./probes.ts";

const calls = [
  ...(["mount", "umount2", "open_by_handle_at", "ptrace", "process_vm_readv", "prctl", "unshare", "setns"] as const),
  ...(["bpf", "perf_event_open", "add_key", "keyctl", "io_uring_setup", "userfaultfd", "personality"] as const),
  ...(["finit_module", "syslog", "settimeofday", "reboot"] as const),
];
const arch = process.arch === "arm64" ? "arm64" : "x64";
const secret = randomBytes(16).toString("hex");
const variable = "CODECELL_PARITY_SECRET";
const abstract = `codecell-parity-${process.pid}`;
const servers: Server[] = [];
let home: string;
let facts: Record<string, unknown>;

/** The targets of the probes: listeners, a file in the home directory, an environment variable. */
beforeAll(async () => {
  process.env[variable] = secret;
  home = await mkdtemp(join(homedir(), "codecell-parity-")).catch(() => mkdtemp(join(tmpdir(), "codecell-parity-")));
  await writeFile(join(home, "secret.txt"), secret, { mode: 0o644 });
  const port = await listen({ host: "127.0.0.2", port: 0 });
  await listen({ host: "127.0.0.1", port });
  await listen({ host: "::1", port }).catch(() => 0); // a host without IPv6 has no such target
  await listen({ path: `\0${abstract}` });
  await listen({ path: join(home, "listener.sock") });
  facts = {
    ...{ port, abstract, secret, variable },
    file: join(home, "secret.txt"),
    socket: join(home, "listener.sock"),
    engine: /^unix:\/\/(.+)/.exec(process.env.DOCKER_HOST ?? "")?.[1] ?? "",
    mark: "vitest",
    names: [...new Set([hostname(), home, homedir(), userInfo().username, process.cwd()])].filter(isTelling),
    processors: availableParallelism(),
    calls: Object.fromEntries(calls.map((name) => [name, syscallNumber(name, arch)])),
  };
});
afterAll(async () => {
  delete process.env[variable];
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  await rm(home, { recursive: true, force: true });
});

/** Whether a name identifies this host: `cell` or a user name that every system has does not. */
function isTelling(name: string): boolean {
  return name.length > 2 && !["root", "cell", "localhost", "/root"].includes(name);
}

async function listen(options: { host?: string; port?: number; path?: string }): Promise<number> {
  const server = createServer((socket) => socket.destroy());
  servers.push(server);
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(options, resolve));
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}

const missing = await Promise.all(tiers.map(isMissing));

for (const [index, tier] of tiers.entries()) {
  describe.skipIf(missing[index])(`the verdict in ${tier.name} on a program that`, () => {
    let codecell: LiveSessions;
    let session: LiveSession;
    let deps: string;
    beforeAll(async () => {
      deps = await mkdtemp(join(tmpdir(), "codecell-deps-"));
      codecell = await LiveSessions.open({ policy: parsePolicy(policyFor(tier, deps)), runners: [tier.make()] });
      session = await codecell.openSession();
    });
    afterAll(async () => {
      await codecell?.close();
      await rm(deps, { recursive: true, force: true });
    });

    test.each(probes.map((probe) => [probe.name, probe] as const))("%s", async (_, probe) => {
      if (probe.afterIdle) await new Promise((resolve) => setTimeout(resolve, 200));
      const { verdict, because } = expected(probe, tier);
      expect(await verdictOf(session, probe), because).toEqual(verdict);
    });

    test("runs after all other probes", async () => {
      expect(await session.run("40 + 2")).toMatchObject({ status: "ok", value: "42" });
    });
  });
}

function policyFor({ name }: Tier, deps: string) {
  // gVisor counts every process of a program in full: under a smaller limit, many of them run out of memory first
  const memory = name === "gvisor" ? "768MiB" : "256MiB";
  return {
    proc: { memory, disk: "16MiB", pids: 32, files: 128, output: "64KiB", timeout: "20s" },
    env: { GREETING: "hello" },
    ...(name === "wasm" ? {} : { fs: { deps } }),
  };
}

function expected(probe: Probe, { name }: Tier): { verdict: Verdict; because: string } {
  return probe.except?.[name] ?? { verdict: probe.expect, because: "the same on every tier" };
}

async function verdictOf(session: LiveSession, { code, language = "python", name }: Probe): Promise<Verdict> {
  try {
    if (language === "python") await session.set("host", facts as never);
    const program = language === "python" ? `${prelude}\n${code}\nprint(json.dumps(verdict))` : code;
    const timeoutMs = name === "runs without end" ? 300 : 20_000;
    const result = await session.run(program, { language, timeoutMs });
    if (result.status === "ok") return JSON.parse(result.stdout) as Verdict;
    // the limit ends the run or the allocation fails: both enforce it
    if (result.error?.name === "MemoryError") return "out_of_memory";
    return result.status === "error" ? (result.error?.name ?? "error") : result.status;
  } catch (error) {
    if (error instanceof CodecellError) return error.code;
    throw error;
  }
}
