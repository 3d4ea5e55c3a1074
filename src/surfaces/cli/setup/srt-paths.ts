import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { packageRoot } from "../../../lib/files/package-root.ts";
import { denyMatcher } from "../../../policy/paths/deny.ts";
import { findDenied } from "../../../policy/paths/find-denied.ts";
import { isBelow } from "../../../policy/paths/host-path.ts";
import type { Policy } from "../../../policy/schema.ts";
import { openedPaths, type SrtPaths } from "../../../policy/srt/srt-settings.ts";

export interface SrtPlaces {
  readonly stateDir: string;
  readonly policyFile?: string | undefined;
  /** files that srt itself runs inside its sandbox */
  readonly insideFiles: readonly string[];
  /** an engine outside srt starts the cells, so the server has to reach it */
  readonly needsEngine: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const systemPlaces = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/etc/ld.so.cache"];

/** bubblewrap supports about 3,000 mounts. */
const mostDenied = 2000;

/** Finds the paths of this machine that the settings must contain. */
export async function gatherSrtPaths(policy: Policy, places: SrtPlaces): Promise<SrtPaths> {
  const { platform } = process;
  if (platform !== "linux" && platform !== "darwin") {
    throw new CodecellError("not_supported", `srt settings are not supported on ${platform}`, {
      hint: "use Linux or macOS",
    });
  }
  const system = systemPlaces.filter((path) => existsSync(path));
  const own = [process.execPath, ...nodeLibraries(), ...packageFiles(packageRoot()), ...places.insideFiles];
  const elsewhere = own.filter((path) => !system.some((place) => path === place || isBelow(path, place)));
  return {
    platform,
    programs: [...new Set([...system, ...elsewhere])],
    stateDir: places.stateDir,
    policyFile: places.policyFile,
    engineSocket: places.needsEngine ? engineSocket(places.env) : undefined,
    denied: await deniedBelow(policy),
  };
}

function nodeLibraries(): string[] {
  const report = process.report.getReport() as unknown as { sharedObjects: string[] };
  return report.sharedObjects.filter((path) => path.startsWith("/") && existsSync(path));
}

/** The files that codecell loads at run time, without its sources. */
function packageFiles(root: string): string[] {
  const own = ["bin", "dist", "python", "package.json", "node_modules"].map((name) => join(root, name));
  const parent = dirname(root);
  // an installer may put dependencies next to this package instead of inside it
  const beside = basename(parent) === "node_modules" && !existsSync(join(root, "node_modules", "pyodide"));
  const store = /^(.*\/\.pnpm)\//.exec(root)?.[1];
  return [...own, ...(beside ? [store ?? parent] : [])].filter((path) => existsSync(path));
}

function engineSocket(env: SrtPlaces["env"]): string | undefined {
  const named = /^unix:\/\/(\/.+)$/.exec(env.DOCKER_HOST ?? "")?.[1];
  const usual = ["/var/run/docker.sock", "/run/podman/podman.sock"];
  const rootless = env.XDG_RUNTIME_DIR ? [join(env.XDG_RUNTIME_DIR, "podman", "podman.sock")] : [];
  return [...(named === undefined ? [] : [named]), ...rootless, ...usual].find((path) => existsSync(path));
}

/** Denied files in what the policy opens. The policy file stays readable for the server; its tools do not serve it. */
async function deniedBelow(policy: Policy): Promise<string[]> {
  const matcher = denyMatcher(policy.fs.deny);
  const found = openedPaths(policy)
    .filter((root) => existsSync(root))
    .map((root) => realpathSync(root))
    .map(async (root) => (await findDenied(root, matcher.below(root))).map((path) => join(root, path)));
  const denied = (await Promise.all(found)).flat().filter((path) => !basename(path).startsWith("sandbox.policy."));
  if (denied.length <= mostDenied) return denied;
  throw new CodecellError(
    "policy_refused",
    `fs.deny matches ${denied.length} files in the directories that the policy opens; srt can hide at most ${mostDenied}`,
    {
      hint: "set a smaller directory in fs.load",
      details: { rule: "fs.deny" },
    },
  );
}
