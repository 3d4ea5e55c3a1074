import { existsSync } from "node:fs";
import { release } from "node:os";
import { delimiter, join } from "node:path";
import { z } from "zod";
import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { negotiateVersion } from "./api-version.ts";
import {
  type AddressFacts,
  type EngineAddress,
  type EngineKind,
  engineAddresses,
  unsupportedAddress,
} from "./engine-address.ts";
import { parseAnswer } from "./engine-answer.ts";
import type { EngineClient } from "./engine-client.ts";
import { installedRuntimes } from "./installed-runtimes.ts";
import type { SilentEngines } from "./silent-engines.ts";

/** How long an engine may take to answer: less while `auto` can still choose another runner. */
export const probeTimeoutMs = { quick: 1_500, patient: 4_000 };

/** Exists if SELinux is on, which Podman does not report. */
const selinux = "/sys/fs/selinux/enforce";

const infoSchema = z.object({
  ServerVersion: z.string().default("unknown"),
  OSType: z.string().default("linux"),
  Architecture: z.string().default(""),
  KernelVersion: z.string().default(""),
  SecurityOptions: z.array(z.string()).nullish(),
  Runtimes: z.record(z.string(), z.unknown()).nullish(),
  DefaultRuntime: z.string().default(""),
  CgroupVersion: z.string().default("1"),
  Rootless: z.boolean().default(false), // Podman only; Docker lists it in its security options
  MemoryLimit: z.boolean().default(true),
  SwapLimit: z.boolean().default(true),
  PidsLimit: z.boolean().default(true),
  CpuCfsQuota: z.boolean().default(true),
  KernelMemoryTCP: z.boolean().default(false),
  NCPU: z.number().int().positive().optional().catch(undefined),
});

/** A container engine that answered, and what it reports about itself. */
export interface Engine {
  readonly client: EngineClient;
  readonly kind: EngineKind;
  readonly version: string;
  readonly arch: "x64" | "arm64" | undefined;
  readonly runtimes: readonly string[];
  /** the runtime of containers that do not name one; empty: unknown */
  readonly defaultRuntime: string;
  readonly cgroupVersion: string;
  /** the engine runs on this machine, with the same files and sockets */
  readonly isLocal: boolean;
  readonly isRootless: boolean;
  readonly remapsUsers: boolean;
  readonly seccomp: boolean;
  /** SELinux lets containers read only files with their label, which host directories do not have */
  readonly labelsFiles: boolean;
  /** number of processors of its machine; undefined: unknown */
  readonly processors: number | undefined;
  readonly limits: EngineLimits;
}

/** The limits that an engine can enforce. */
export interface EngineLimits {
  readonly memory: boolean;
  /** the memory limit includes swap */
  readonly swap: boolean;
  readonly pids: boolean;
  readonly cpus: boolean;
  /** the buffers of TCP and UDP sockets, which cgroup v1 counts separately */
  readonly sockets: boolean;
}

export type EngineProbe =
  | { readonly available: true; readonly engine: Engine }
  | { readonly available: false; readonly reason: string; readonly hint: string };

/** The first engine that answers in time. Engines in `silent` have just timed out and are skipped. */
export async function findEngine(
  facts: AddressFacts,
  kind?: EngineKind,
  timeoutMs = probeTimeoutMs.patient,
  silent?: SilentEngines,
): Promise<EngineProbe> {
  const addresses = (await engineAddresses(facts)).filter((address) => kind === undefined || address.kind === kind);
  const reasons: string[] = [];
  const hints: string[] = [];
  for (const address of addresses) {
    try {
      const ask = () => askEngine(address, timeoutMs);
      return { available: true, engine: await (silent ? silent.unlessSilent(address, ask) : ask()) };
    } catch (error) {
      if (isAbsence(error)) continue;
      reasons.push(messageOf(error));
      if (error instanceof CodecellError && error.hint) hints.push(error.hint);
    }
  }
  const unsupported = await unsupportedAddress(facts);
  if (unsupported) reasons.push(unsupported);
  const wanted = kind === "podman" ? "Podman" : kind === "docker" ? "Docker" : "container engine";
  return {
    available: false,
    reason: reasons.length > 0 ? reasons.join("; ") : `no ${wanted} answers on this machine`,
    hint: hints[0] ?? absenceHint(kind, facts.env.PATH ?? ""),
  };
}

/** What to do if no engine answers. The container runner starts an installed Podman itself, but only if it is named. */
function absenceHint(kind: EngineKind | undefined, searchPath: string): string {
  if (kind === "docker") return "start Docker, or set DOCKER_HOST to the socket where it listens";
  if (kind === "podman")
    return "install Podman; or start its API and set CONTAINER_HOST to the socket where it listens";
  const others = "DOCKER_HOST and CONTAINER_HOST name the socket of another engine";
  const hasPodman = searchPath.split(delimiter).some((place) => existsSync(join(place, "podman")));
  if (hasPodman) return `start Docker, or use the Podman of this machine with \`--runner container\`; ${others}`;
  return `start Docker, or install Podman, which \`--runner container\` starts by itself; ${others}`;
}

/** Asks one engine for its description. */
export async function askEngine(address: EngineAddress, timeoutMs = probeTimeoutMs.patient): Promise<Engine> {
  const { client, info: answer } = await negotiateVersion(address, timeoutMs);
  const info = parseAnswer(client, infoSchema, answer, "a description of the engine");
  if (info.OSType !== "linux") {
    throw new CodecellError(
      "runner_unavailable",
      `${address.name} runs ${info.OSType} containers, and cells need Linux`,
    );
  }
  const options = info.SecurityOptions ?? [];
  const named = info.Runtimes ?? {};
  const isLocal = isOnThisKernel(address, info.KernelVersion);
  const runtimes = address.kind === "podman" && isLocal ? await installedRuntimes(named) : Object.keys(named);
  const isRootless = info.Rootless || options.some((option) => option.includes("name=rootless"));
  return {
    client,
    kind: address.kind,
    version: info.ServerVersion,
    arch: info.Architecture === "x86_64" || info.Architecture === "amd64" ? "x64" : armOrNothing(info.Architecture),
    runtimes: [...new Set([...runtimes, info.DefaultRuntime])].filter(Boolean),
    defaultRuntime: info.DefaultRuntime,
    cgroupVersion: info.CgroupVersion,
    isLocal,
    isRootless,
    remapsUsers: options.some((option) => option.includes("name=userns")),
    seccomp: options.some((option) => option.includes("name=seccomp") && !option.includes("profile=unconfined")),
    labelsFiles: options.some((option) => option.includes("name=selinux")) || (isLocal && existsSync(selinux)),
    processors: info.NCPU,
    limits: isRootless && info.CgroupVersion === "1" ? noLimits : engineLimits(info, address.kind),
  };
}

/** Ordinary users cannot use cgroup v1. Podman reports what the host supports, but then ignores every limit. */
const noLimits: EngineLimits = { memory: false, swap: false, pids: false, cpus: false, sockets: false };

function engineLimits(info: z.output<typeof infoSchema>, kind: EngineKind): EngineLimits {
  const { MemoryLimit: memory, SwapLimit: swap, PidsLimit: pids, CpuCfsQuota: cpus } = info;
  // Podman has no such setting in the API that it shares with Docker
  return { memory, swap, pids, cpus, sockets: kind === "docker" && info.KernelMemoryTCP };
}

/** Text for people: the engine, its version, and the runtime if it is not the default. */
export function engineVersion({ client, version }: Engine, runtime: string | undefined): string {
  return `${client.address.name} ${version}${runtime === undefined ? "" : ` with ${runtime}`}`;
}

/** Docker Desktop and a Podman machine listen on a local socket, but run their containers in a virtual machine. */
function isOnThisKernel({ connect }: EngineAddress, kernel: string): boolean {
  return process.platform === "linux" && "socketPath" in connect && (kernel === "" || kernel === release());
}

function armOrNothing(architecture: string): "arm64" | undefined {
  return architecture === "aarch64" || architecture === "arm64" ? "arm64" : undefined;
}

/** Nothing listens at this address, which is not worth reporting. */
function isAbsence(error: unknown): boolean {
  const cause = error instanceof CodecellError ? error.cause : error;
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  return code === "ENOENT" || code === "ECONNREFUSED";
}
