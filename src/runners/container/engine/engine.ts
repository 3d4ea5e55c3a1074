import { existsSync } from "node:fs";
import { release } from "node:os";
import { z } from "zod";
import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { introduce } from "./api-version.ts";
import {
  type AddressFacts,
  type EngineAddress,
  type EngineKind,
  engineAddresses,
  unspokenAddress,
} from "./engine-address.ts";
import { understood } from "./engine-answer.ts";
import type { EngineClient } from "./engine-client.ts";
import { installedRuntimes } from "./installed-runtimes.ts";
import type { SilentEngines } from "./silent-engines.ts";

/** One that hangs costs whoever waits for `auto` this much, and the next is asked; where nothing else is to be chosen, it may be busy. */
export const questionMs = { inPassing: 1_500, wanted: 4_000 };

/** There where SELinux is on; Podman does not say so of itself. */
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
  Rootless: z.boolean().default(false), // Podman; Docker has it among the security options
  MemoryLimit: z.boolean().default(true),
  SwapLimit: z.boolean().default(true),
  PidsLimit: z.boolean().default(true),
  CpuCfsQuota: z.boolean().default(true),
  NCPU: z.number().int().positive().optional().catch(undefined),
});

/** A container engine that answered, and what it says of itself. */
export interface Engine {
  readonly client: EngineClient;
  readonly kind: EngineKind;
  readonly version: string;
  readonly arch: "x64" | "arm64" | undefined;
  readonly runtimes: readonly string[];
  /** what a container gets that asks for none; empty: the engine does not say */
  readonly defaultRuntime: string;
  readonly cgroupVersion: string;
  /** files and sockets of this machine are the engine's as well */
  readonly isLocal: boolean;
  readonly isRootless: boolean;
  readonly remapsUsers: boolean;
  readonly seccomp: boolean;
  /** containers may read only what carries their label, which directories of the host do not */
  readonly labelsFiles: boolean;
  /** the processors of its machine; undefined: it does not say */
  readonly processors: number | undefined;
  readonly limits: EngineLimits;
}

/** What it can hold a container to. */
export interface EngineLimits {
  readonly memory: boolean;
  /** memory that was swapped out counts as well */
  readonly swap: boolean;
  readonly pids: boolean;
  readonly cpus: boolean;
}

export type EngineProbe =
  | { readonly available: true; readonly engine: Engine }
  | { readonly available: false; readonly reason: string; readonly hint: string };

/** The first engine that answers, each in its time; `silent` are those that are not worth asking again. */
export async function findEngine(
  facts: AddressFacts,
  kind?: EngineKind,
  timeoutMs = questionMs.wanted,
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
  const unspoken = await unspokenAddress(facts);
  if (unspoken) reasons.push(unspoken);
  const wanted = kind === "podman" ? "Podman" : kind === "docker" ? "Docker" : "container engine";
  return {
    available: false,
    reason: reasons.length > 0 ? reasons.join("; ") : `no ${wanted} answers on this machine`,
    hint:
      hints[0] ??
      "start Docker or Podman, set DOCKER_HOST to the socket where one listens, or set `isolation.runner: container` and codecell starts Podman for you",
  };
}

/** Asks one engine what it is. */
export async function askEngine(address: EngineAddress, timeoutMs = questionMs.wanted): Promise<Engine> {
  const { client, info: answer } = await introduce(address, timeoutMs);
  const info = understood(client, infoSchema, answer, "what an engine is");
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
    limits: isRootless && info.CgroupVersion === "1" ? noLimits : engineLimits(info),
  };
}

/** The first cgroups give nothing to ordinary users. Podman says what the host could do, and drops every limit. */
const noLimits: EngineLimits = { memory: false, swap: false, pids: false, cpus: false };

function engineLimits({ MemoryLimit, SwapLimit, PidsLimit, CpuCfsQuota }: z.output<typeof infoSchema>): EngineLimits {
  return { memory: MemoryLimit, swap: SwapLimit, pids: PidsLimit, cpus: CpuCfsQuota };
}

/** As people name it: the engine, its version, and the runtime where it is not the engine's own. */
export function engineVersion({ client, version }: Engine, runtime: string | undefined): string {
  return `${client.address.name} ${version}${runtime === undefined ? "" : ` with ${runtime}`}`;
}

/** Docker Desktop and a Podman machine listen on a socket of this machine too, and have their containers in another one. */
function isOnThisKernel({ connect }: EngineAddress, kernel: string): boolean {
  return process.platform === "linux" && "socketPath" in connect && (kernel === "" || kernel === release());
}

function armOrNothing(architecture: string): "arm64" | undefined {
  return architecture === "aarch64" || architecture === "arm64" ? "arm64" : undefined;
}

/** Nobody listens there: no reason to tell when another place has an engine, or none has. */
function isAbsence(error: unknown): boolean {
  const cause = error instanceof CodecellError ? error.cause : error;
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  return code === "ENOENT" || code === "ECONNREFUSED";
}
