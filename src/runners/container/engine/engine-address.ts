import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { userHome } from "../../../lib/files/user-home.ts";

/** A container engine. */
export type EngineKind = "docker" | "podman";

/** Where a container engine listens. */
export interface EngineAddress {
  readonly kind: EngineKind;
  /** display name: Docker, Podman */
  readonly name: string;
  /** the address as text: unix:///var/run/docker.sock */
  readonly shown: string;
  readonly connect: { readonly socketPath: string } | { readonly host: string; readonly port: number };
  /** where the address comes from: a variable, a context, or the default location */
  readonly from: string;
}

export interface AddressFacts {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly uid: number;
  readonly readText: (path: string) => Promise<string | undefined>;
}

/** Facts about this process's environment. */
export function addressFacts(env: NodeJS.ProcessEnv = process.env): AddressFacts {
  return {
    env,
    home: userHome(env) ?? "/",
    uid: process.getuid?.() ?? 0,
    readText: (path) => readFile(path, "utf8").catch(() => undefined),
  };
}

/** Addresses where engines may listen, best first. If variables name an engine, no other address is tried. */
export async function engineAddresses(facts: AddressFacts): Promise<EngineAddress[]> {
  const { DOCKER_HOST, CONTAINER_HOST } = facts.env;
  const isNamed = namesEngine(facts);
  return [
    ...(isNamed && !DOCKER_HOST ? [] : await dockerAddresses(facts)),
    ...(isNamed && !CONTAINER_HOST ? [] : podmanAddresses(facts)),
  ];
}

/** Explains why an address that the user set is not tried, or undefined if it is. */
export async function unsupportedAddress(facts: AddressFacts): Promise<string | undefined> {
  const { DOCKER_HOST, CONTAINER_HOST, DOCKER_TLS_VERIFY } = facts.env;
  const context = DOCKER_HOST || CONTAINER_HOST ? undefined : await contextHost(facts);
  const named = [
    { from: "DOCKER_HOST", host: DOCKER_HOST, hasTls: Boolean(DOCKER_TLS_VERIFY) },
    { from: "CONTAINER_HOST", host: CONTAINER_HOST, hasTls: false },
    ...(context ? [{ ...context, from: `the context ${context.name}` }] : []),
  ];
  const unsupported = named.find(
    ({ from, host, hasTls }) => host && withoutTls(one("docker", host, from), hasTls).length === 0,
  );
  if (!unsupported) return context?.host === "" ? `the Docker context ${context.name} does not exist` : undefined;
  const tls = unsupported.hasTls ? " with TLS" : "";
  return `${unsupported.from} is ${unsupported.host}${tls}, but codecell supports only unix:// and tcp:// without TLS`;
}

/** Whether variables name an engine. An empty variable counts as unset, as for `docker` and `podman`. */
export function namesEngine({ env }: AddressFacts): boolean {
  return Boolean(env.DOCKER_HOST || env.CONTAINER_HOST);
}

async function dockerAddresses(facts: AddressFacts): Promise<EngineAddress[]> {
  const { env, uid } = facts;
  if (env.DOCKER_HOST) return withoutTls(one("docker", env.DOCKER_HOST, "DOCKER_HOST"), Boolean(env.DOCKER_TLS_VERIFY));
  const context = await contextHost(facts);
  if (context) return withoutTls(one("docker", context.host, `context ${context.name}`), context.hasTls);
  const rootless = env.XDG_RUNTIME_DIR || `/run/user/${uid}`;
  return [
    ...(uid === 0 ? [] : one("docker", `unix://${rootless}/docker.sock`, "rootless")),
    ...one("docker", "unix:///var/run/docker.sock", "the default location"),
    ...one("docker", `unix://${facts.home}/.docker/run/docker.sock`, "Docker Desktop"),
  ];
}

function podmanAddresses({ env, uid }: AddressFacts): EngineAddress[] {
  if (env.CONTAINER_HOST) return one("podman", env.CONTAINER_HOST, "CONTAINER_HOST");
  const runtime = env.XDG_RUNTIME_DIR || `/run/user/${uid}`;
  return uid === 0
    ? one("podman", "unix:///run/podman/podman.sock", "the default location")
    : one("podman", `unix://${runtime}/podman/podman.sock`, "the default location");
}

/** The context that `docker context use` chose; `default` is the default location. */
async function contextHost({ env, home, readText }: AddressFacts) {
  const directory = env.DOCKER_CONFIG || join(home, ".docker");
  const config = parseJson(await readText(join(directory, "config.json")));
  const name = env.DOCKER_CONTEXT || text(config?.currentContext);
  if (!name || name === "default") return undefined;
  const id = createHash("sha256").update(name).digest("hex");
  const meta = parseJson(await readText(join(directory, "contexts", "meta", id, "meta.json")));
  // For a missing context, use no address: the user did not choose any other engine.
  const host = text(child(child(meta?.Endpoints, "docker"), "Host")) ?? "";
  const authority = await readText(join(directory, "contexts", "tls", id, "docker", "ca.pem"));
  return { name, host, hasTls: authority !== undefined };
}

/** Stops a machine in the middle: if the user asks for TLS, the engine is not contacted without it. */
function withoutTls(addresses: EngineAddress[], wantsTls: boolean): EngineAddress[] {
  return addresses.filter(({ connect }) => "socketPath" in connect || !wantsTls);
}

/** Parses an address in Docker's format. Undefined if codecell does not support it (ssh, npipe, TLS). */
export function parseEngineAddress(kind: EngineKind, written: string, from: string): EngineAddress | undefined {
  const name = kind === "docker" ? "Docker" : "Podman";
  const unix = /^unix:\/\/(\/.+)$/.exec(written);
  if (unix?.[1]) return { kind, name, shown: written, connect: { socketPath: unix[1] }, from };
  const tcp = /^(?:tcp|http):\/\/(\[[0-9a-fA-F:]+\]|[^:/[\]]+):(\d{1,5})\/?$/.exec(written);
  if (!tcp?.[1]) return undefined;
  return { kind, name, shown: written, connect: { host: tcp[1].replace(/^\[|\]$/g, ""), port: Number(tcp[2]) }, from };
}

function one(kind: EngineKind, written: string, from: string): EngineAddress[] {
  const address = parseEngineAddress(kind, written, from);
  return address ? [address] : [];
}

function parseJson(content: string | undefined): Record<string, unknown> | undefined {
  try {
    return content === undefined ? undefined : (JSON.parse(content) as Record<string, unknown>);
  } catch {
    return undefined;
  }
}

function child(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
