import { denyGlobs } from "../paths/deny.ts";
import { expandBraces } from "../paths/glob.ts";
import { hostGrants, writableHostPaths } from "../paths/host-grants.ts";
import type { Policy } from "../schema.ts";
import { type SrtNote, srtNotes } from "./srt-notes.ts";

/** What the server inside srt needs from this machine. Everything else is hidden from it. */
export interface SrtPaths {
  readonly platform: "linux" | "darwin";
  /** programs, libraries and packages that the server loads, read-only */
  readonly programs: readonly string[];
  readonly stateDir: string;
  /** set if a container engine outside srt must find the server's sockets and files */
  readonly runtimeDir?: string | undefined;
  readonly policyFile?: string | undefined;
  /** of the container engine, if one is used */
  readonly engineSocket?: string | undefined;
  /** absolute paths that the deny globs hide below what the policy opens */
  readonly denied: readonly string[];
}

/** A path that is never read as a pattern. */
export interface SrtLiteral {
  readonly path: string;
  readonly literal: true;
}

/** The part of `@anthropic-ai/sandbox-runtime` settings that is used here. */
export interface SrtSettings {
  readonly network: {
    readonly allowedDomains: readonly string[];
    readonly deniedDomains: readonly string[];
    readonly deniedResolvedAddresses: readonly string[];
    readonly allowUnixSockets: readonly string[];
    readonly allowAllUnixSockets: boolean;
  };
  readonly filesystem: {
    readonly denyRead: readonly (string | SrtLiteral)[];
    readonly allowRead: readonly SrtLiteral[];
    readonly allowWrite: readonly SrtLiteral[];
    readonly denyWrite: readonly SrtLiteral[];
  };
  readonly allowNestedUserNamespaces: boolean;
  readonly enableWeakerNestedSandbox: boolean;
}

export interface SrtExport {
  readonly settings: SrtSettings;
  /** what srt cannot enforce, and what the settings cost */
  readonly notes: readonly SrtNote[];
}

/** Addresses that an allowed name must not resolve to: srt itself leaves private networks open. */
const privateAddresses = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"];

/** Pure: a policy and paths in, settings for srt around the MCP server out. */
export function srtSettings(policy: Policy, paths: SrtPaths): SrtExport {
  return {
    settings: {
      network: network(policy, paths),
      filesystem: filesystem(policy, paths),
      // The attack: in its own user namespace the server could unmount the read-only mounts.
      allowNestedUserNamespaces: false,
      // It would leave the host's /proc visible.
      enableWeakerNestedSandbox: false,
    },
    notes: srtNotes(policy, paths),
  };
}

function network({ net }: Policy, { platform, engineSocket }: SrtPaths): SrtSettings["network"] {
  return {
    allowedDomains: net.enabled ? [...new Set(net.allowlist.flatMap(withWebPorts))] : [],
    deniedDomains: net.enabled ? net.deny : [],
    deniedResolvedAddresses: net.enabled ? privateAddresses : [],
    allowUnixSockets: engineSocket === undefined ? [] : [engineSocket],
    // on Linux the filter cannot tell one socket from another
    allowAllUnixSockets: engineSocket !== undefined && platform === "linux",
  };
}

/** A pattern without a port means 80 and 443 in a policy, but any port in srt. */
function withWebPorts(pattern: string): string[] {
  return pattern.includes(":") ? [pattern] : [`${pattern}:80`, `${pattern}:443`];
}

function filesystem(policy: Policy, paths: SrtPaths): SrtSettings["filesystem"] {
  const { fs } = policy;
  const writable = [paths.stateDir, paths.runtimeDir, ...writableHostPaths(policy)];
  const opened = openedPaths(policy);
  const readable = [...paths.programs, paths.policyFile, paths.engineSocket, ...writable, ...opened];
  return {
    denyRead: [
      ...closedPlaces[paths.platform],
      ...opened.flatMap((root) => topLevelDeny(root, fs.deny)),
      ...literal(paths.denied),
    ],
    allowRead: literal(readable),
    allowWrite: literal(writable),
    // The attack: a compromised server rewrites the policy for its next start.
    denyWrite: literal([paths.policyFile]),
  };
}

/** Host paths that the policy opens for reading or writing. */
export function openedPaths(policy: Policy): string[] {
  return [...new Set([...hostGrants(policy).map(({ source }) => source), ...policy.fs.load])];
}

/** srt allows every read that is not denied. On macOS programs cannot load if the whole root is denied. */
const closedPlaces = {
  linux: ["/"],
  darwin: ["/Users", "/Volumes", "/private/var/folders", "/private/tmp", "/Library/Keychains"],
} as const;

/**
 * The deny globs at the top of an opened directory, as patterns: they also match files created before the next start. A
 * pattern for every depth would walk the tree once per glob, which takes seconds, so deeper files are listed one by one.
 */
function topLevelDeny(root: string, deny: readonly string[]): string[] {
  if (/[*?[\]{}]/.test(root)) return []; // the name itself would be read as a pattern
  const globs = denyGlobs(deny).flatMap((glob) => expandBraces(glob) ?? []);
  // the policy is hidden from cells, but the server has to read it
  const relative = globs.filter((glob) => !/^(?:\/|\*\*|sandbox\.policy\.)/.test(glob));
  return relative.map((glob) => `${root}/${glob.replace(/\/\*\*$/, "")}`);
}

function literal(paths: readonly (string | undefined)[]): SrtLiteral[] {
  const known = paths.filter((path) => path !== undefined);
  return [...new Set(known)].map((path) => ({ path, literal: true }));
}
