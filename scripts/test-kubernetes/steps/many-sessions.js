import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { nodes } from "../cluster/layout.js";
import { expect } from "./expect.js";
import { Gateway } from "./gateway.js";
import { cellPods, noCellsLeft } from "./pods.js";

const count = 100;
const atOnce = 10;
const idleMs = 10_000;

/** @type {import("./steps.js").Step} */
export const manySessions = {
  name: "many-sessions",
  asks: `do ${count} sessions in pods answer rightly, and what does each cost?`,
  async run(context) {
    const policy = { proc: { memory: "128MiB", cpus: 0.5 }, session: { limit: count + 10 } };
    // idle sessions need no core, and the scheduler counts what is requested
    const env = { CODECELL_KUBERNETES_REQUESTS: "cpu=0.02,memory=0.25" };
    const gateway = await Gateway.start(context, { name: "many", policy, env });
    try {
      const codecell = await gateway.connect();
      const first = await codecell.session();
      await first.run("1");
      const before = { gateway: gateway.usage(), nodes: await nodesBytes(context) };
      const began = performance.now();
      const sessions = await openAll(codecell);
      const openSeconds = (performance.now() - began) / 1000;
      await sleep(idleMs); // copies are parked, start-up has ended
      const idle = gateway.usage();
      const after = { gateway: idle, nodes: await nodesBytes(context) };
      const answers = await Promise.all(sessions.map(async (session, n) => (await session.run(`${n} * 2 + x`)).value));
      expect(
        answers.every((answer, n) => answer === String(n * 3)),
        "every session answers with its own variable",
        answers,
      );
      const onNodes = countByNode(await cellPods(context));
      const cpu = await idleCpu(gateway);
      const figures = {
        sessions: count,
        openSeconds,
        gatewayBytesPerSession: (after.gateway.bytes - before.gateway.bytes) / count,
        gatewayBytes: before.gateway.bytes,
        gatewayCpuMsPerIdleSessionSecond: cpu / count,
        gatewayCpuMsPerStart: (after.gateway.cpuMs - before.gateway.cpuMs) / count,
        ...(context.isOwnCluster ? { nodeBytesPerSession: (after.nodes - before.nodes) / count } : {}),
      };
      return { detail: describe(figures, onNodes), figures };
    } finally {
      await gateway.stop();
      await noCellsLeft(context, { timeoutMs: 300_000 });
    }
  },
};

/** Opens them a few at a time, each with a variable of its own. */
async function openAll(codecell) {
  const sessions = [];
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const n = next++;
      const session = await codecell.session();
      await session.run(`x = ${n}`);
      sessions[n] = session;
      if (n % 20 === 19) console.error(`${n + 1} of ${count} sessions`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return sessions;
}

/** CPU milliseconds per second that the gateway takes while nothing happens. */
async function idleCpu(gateway) {
  await sleep(2000);
  const began = gateway.usage().cpuMs;
  await sleep(idleMs);
  return ((gateway.usage().cpuMs - began) / idleMs) * 1000;
}

/** Memory that the pods take on all nodes: what their cgroups count without the cache, and their shims beside them. */
async function nodesBytes({ isOwnCluster }) {
  if (!isOwnCluster) return 0;
  let bytes = 0;
  for (const { cgroup } of nodes) {
    const directory = `/sys/fs/cgroup/memory/${cgroup}/kubepods`;
    const stat = await readFile(`${directory}/memory.stat`, "utf8");
    for (const name of ["total_rss", "total_shmem"])
      bytes += Number(new RegExp(`^${name} (\\d+)`, "m").exec(stat)?.[1] ?? 0);
    bytes += Number(await readFile(`${directory}/memory.kmem.usage_in_bytes`, "utf8").catch(() => "0"));
  }
  return bytes + (await shimBytes());
}

/** Each pod has a process of containerd's own, outside of its cgroup. Shared pages count in parts. */
async function shimBytes() {
  let bytes = 0;
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (!command.includes("containerd-shim")) continue;
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
    bytes += Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0) * 1024;
  }
  return bytes;
}

function describe(figures, onNodes) {
  const mib = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  const spread = [...onNodes].map(([name, pods]) => `${name}: ${pods}`).join(", ");
  return [
    `${count} sessions open after ${figures.openSeconds.toFixed(0)} s (${spread})`,
    ...(figures.nodeBytesPerSession ? [`${mib(figures.nodeBytesPerSession)} of a node each`] : []),
    `${mib(figures.gatewayBytesPerSession)} and ${figures.gatewayCpuMsPerIdleSessionSecond.toFixed(2)} ms of CPU per idle second of the gateway each`,
  ].join("; ");
}

function countByNode(pods) {
  const counts = new Map();
  for (const { spec } of pods) counts.set(spec.nodeName, (counts.get(spec.nodeName) ?? 0) + 1);
  return counts;
}
