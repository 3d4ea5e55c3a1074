import type { EgressOptions } from "../egress/process/egress-process.ts";
import type { PolicyInput } from "../policy/schema.ts";
import type { AttackTier, Scenario } from "./attack.ts";
import type { AttackHost } from "./host/attack-host.ts";
import { ownDenyGlob } from "./host/shown-directories.ts";

/** Limits that every scenario has, small enough that reaching them costs the host little. */
export const limits = {
  diskMiB: 16,
  pids: 32,
  files: 128,
  outputKiB: 64,
} as const;

/** Memory of a cell in MiB. gVisor counts every process in full, so under less some of them run out of memory first. */
export function memoryMiB(tier: AttackTier): number {
  return tier === "gvisor" || tier === "kubernetes-gvisor" ? 768 : 256;
}

/** The policy of a scenario. */
export function policyFor(scenario: Scenario, tier: AttackTier, host: AttackHost): PolicyInput {
  return {
    proc: {
      ...{ memory: `${memoryMiB(tier)}MiB`, disk: `${limits.diskMiB}MiB`, pids: limits.pids, files: limits.files },
      ...{ output: `${limits.outputKiB}KiB`, timeout: "20s" },
    },
    env: { GREETING: "hello" },
    ...rules(scenario, host),
  };
}

function rules(scenario: Scenario, host: AttackHost): PolicyInput {
  switch (scenario) {
    case "plain":
    case "neighbour":
    case "next-session":
      return {};
    case "workspace":
      return { fs: { workspace: host.shown.writable } };
    case "mounts":
      return {
        fs: {
          deps: host.shown.deps,
          mounts: [
            { source: host.shown.readOnly, target: "/data", mode: "ro" },
            { source: host.shown.writable, target: "/shared", mode: "rw" },
          ],
          deny: [ownDenyGlob],
        },
      };
    case "network": {
      const { port, otherPort } = host.web;
      const hosts = [`good.example:${port}`, `other.example:${otherPort}`];
      return {
        net: {
          ...{ enabled: true, allowlist: [...hosts, ...wildcards(host.port)], deny: ["denied.wild.example"] },
          secrets: { API_TOKEN: { from: `env:${host.variable}`, hosts: hosts.slice(0, 1), plaintext: true } },
        },
      };
    }
  }
}

/** Names that wildcards of the policy cover, or nearly; all of them lead to a listener that no cell may reach. */
const traps = [
  "unlisted.example",
  "denied.wild.example",
  "wild.example",
  "evilwild.example",
  "api.openai.com",
] as const;

function wildcards(port: number): string[] {
  return [`*.wild.example:${port}`, `*.openai.com:${port}`];
}

/** Every name leads to loopback, so that no attack leaves the machine. */
export const egress: EgressOptions = {
  fixedAddresses: Object.fromEntries(["good.example", "other.example", ...traps].map((name) => [name, "127.0.0.1"])),
};
