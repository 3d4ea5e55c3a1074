import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { packageRoot } from "../../../lib/files/package-root.ts";
import { codecellVersion } from "../../../service/version.ts";
import { movedDirectory, wholePath } from "../policy/credential-variables.ts";
import { stateDirOf } from "../shell/state-dir.ts";
import type { Terminal } from "../shell/terminal.ts";
import type { HolderFlags } from "./holder-settings.ts";

/** A policy file is not read beyond this; such a file is invalid anyway. */
const maxPolicyBytes = 4 * 1024 * 1024;

const credentialVariables = [...wholePath, ...Object.keys(movedDirectory)];

/** The environment of a holder, all of it: what decides about the policy, the runner and its directories. */
const holderVariables = [
  ...["PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "CODECELL_POLICY"],
  ...["DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "CONTAINER_HOST"],
  ...["SANDBOX_RUNTIME", "CLAUDECODE", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "FLATPAK_ID"],
  ...["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"],
  ...credentialVariables,
];

type Place = Pick<Terminal, "cwd" | "env">;

export function holderEnvironment(env: Terminal["env"]): Record<string, string> {
  return Object.fromEntries(
    holderVariables.flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

/**
 * A hash of everything that decides what a call without a warm cell would do: this version of codecell and Node, the policy file
 * and its owner, the flags, the state directory, the user and the environment. Calls with the same key share a holder. It is
 * computed from what the policy is made of, because parsing the policy takes longer than the rest of the call.
 */
export function warmKey(flags: HolderFlags, { cwd, env }: Place): string {
  const root = packageRoot();
  const named = flags.policy ?? (env.CODECELL_POLICY || undefined);
  const found = named === undefined ? join(cwd, "sandbox.policy.yaml") : resolve(cwd, named);
  const file = fileFacts(found);
  const misspelt = named === undefined && factsOf(() => lstatSync(join(cwd, "sandbox.policy.yml"))) !== undefined;
  const isRelative = credentialVariables.some((name) => /(?:^|:)[^/:]/.test(env[name] ?? ""));
  const dependsOnDirectory = file !== undefined || misspelt || isRelative;
  const parts = [
    ...[codecellVersion(), root, statSync(join(root, "package.json")).mtimeMs, buildTime(root)],
    ...[process.execPath, process.version, process.getuid?.(), process.getgid?.(), process.getgroups?.(), namespaces()],
    ...[stateDirOf(flags, { cwd, env }), dependsOnDirectory ? cwd : null, file === undefined ? null : found, file],
    [flags.runner, flags.timeout, flags.memory, flags["output-limit"]],
    Object.entries(holderEnvironment(env)),
  ];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 24);
}

/** A new build has the same version while codecell is developed. */
function buildTime(root: string): number | undefined {
  return factsOf(() => statSync(join(root, "dist", "bundled", "surfaces", "cli", "main.cjs")))?.mtimeMs;
}

/** The attack: a caller inside another sandbox that shares the runtime directory would run code outside of that sandbox. */
function namespaces(): string[] {
  if (process.platform !== "linux") return [];
  return ["mnt", "net", "user", "pid"].map((name) => readlinkSync(`/proc/self/ns/${name}`));
}

/** The content of a file, and who may change it. Undefined: there is none. */
function fileFacts(path: string): unknown {
  const link = factsOf(() => lstatSync(path));
  if (link === undefined) return undefined;
  // O_NONBLOCK: opening a named pipe without a writer would block forever
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const facts = fstatSync(file);
    if (!facts.isFile() || facts.size > maxPolicyBytes) throw new Error(`${path} is not a small regular file`);
    const content = createHash("sha256").update(readFileSync(file)).digest("hex");
    return [content, ...[link, facts].map(({ dev, ino, uid, gid, mode }) => [dev, ino, uid, gid, mode])];
  } finally {
    closeSync(file);
  }
}

function factsOf<Facts>(look: () => Facts): Facts | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
