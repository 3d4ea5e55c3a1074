import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** One test cluster at a time: it takes two cores and gigabytes, and the names of its cgroups are fixed. */
const path = join(tmpdir(), "codecell-test-kubernetes.json");

/**
 * @typedef {object} ClusterState what the lock file says
 * @property {number} pid the process that holds the cluster
 * @property {string} started an ISO date
 * @property {string} ticks when that process started, as the OS counts it: numbers of processes are used again
 * @property {string} [directory]
 * @property {string} [kubeconfig] once it is ready
 * @property {number} [inside] a process in the cluster's namespaces
 */

/** @returns {ClusterState | undefined} the cluster that is up, or on its way */
export function currentCluster() {
  const state = read();
  return state && isAlive(state) ? state : undefined;
}

/** @returns {ClusterState | undefined} what a killed holder has left behind */
export function takeLock() {
  const mine = `${path}.${process.pid}`;
  const me = { pid: process.pid, started: new Date().toISOString(), ticks: ticksOf(process.pid) };
  writeFileSync(mine, JSON.stringify(me), { mode: 0o600 });
  try {
    for (;;) {
      try {
        linkSync(mine, path); // fails if it exists
        return undefined;
      } catch (error) {
        if (error.code !== "EEXIST") throw error;
      }
      const holder = read();
      if (holder && isAlive(holder)) {
        throw new Error(
          `a test cluster is up already: process ${holder.pid}, since ${holder.started}. Use it with \`exec\`, or end it with \`down\``,
        );
      }
      renameSync(mine, path);
      return holder;
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

/** @param {Omit<ClusterState, "pid" | "started">} facts */
export function updateLock(facts) {
  const mine = `${path}.${process.pid}`;
  writeFileSync(mine, JSON.stringify({ ...read(), ...facts }), { mode: 0o600 });
  renameSync(mine, path);
}

export function releaseLock() {
  rmSync(path, { force: true });
}

function read() {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

function isAlive({ pid, ticks }) {
  try {
    return ticksOf(pid) === ticks;
  } catch {
    return false;
  }
}

function ticksOf(pid) {
  return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ")[19];
}
