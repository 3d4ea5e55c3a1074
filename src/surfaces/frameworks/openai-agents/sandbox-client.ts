import { CodecellError } from "../../../lib/errors.ts";
import type { CodeSession } from "../../../sessions/code-session.ts";
import { loadPeer } from "../load-peer.ts";
import { agentsSandboxPackage } from "./agents-package.ts";
import { type OpenAiSandbox, type SandboxManifest, sandboxOver } from "./sandbox.ts";

/** What opens sessions: a `Codecell`, or a connection of the client. */
export interface SessionSource {
  session(): Promise<CodeSession>;
}

/** A sandbox client of the OpenAI Agents SDK: fits its interface `SandboxClient`. */
export interface OpenAiSandboxClient {
  backendId: string;
  /** a session that this process did not open cannot be resumed, so a new one is created */
  serializedSessionStateRequiresFreshCreation: true;
  // biome-ignore lint/suspicious/noExplicitAny: the SDK passes its own classes, which this package does not have
  create(args?: any, options?: any): Promise<OpenAiSandbox>;
}

/** Gives each run of a `SandboxAgent` a session of its own, and closes it when the run ends. */
export function sandboxClient(source: SessionSource): OpenAiSandboxClient {
  return {
    backendId: "codecell",
    serializedSessionStateRequiresFreshCreation: true,
    create: async (...args: unknown[]) => {
      const { normalizeSandboxClientCreateArgs } = await loadPeer(agentsSandboxPackage);
      const { manifest, snapshot, options } = (normalizeSandboxClientCreateArgs as NormalizeArgs)(...args);
      checkManifest(manifest);
      if (snapshot && snapshot.type !== "noop") {
        throw refused("snapshots", "use a policy with session.persist, and pass the session itself");
      }
      if (Object.keys(options ?? {}).length > 0) {
        throw refused(
          `the options ${Object.keys(options ?? {}).join(", ")}`,
          "leave them out: the policy has the limits",
        );
      }
      const session = await source.session();
      try {
        const sandbox = sandboxOver(session, manifest);
        for (const [path, entry] of Object.entries(manifest.entries)) await sandbox.materializeEntry({ path, entry });
        return sandbox;
      } catch (error) {
        await session.close({ forget: true });
        throw error;
      }
    },
  };
}

/** A session that you open and close yourself, as `sandbox.session` of a run: several runs can share its state. */
export async function sandboxSession(session: CodeSession): Promise<OpenAiSandbox> {
  return sandboxOver(session, await emptyManifest());
}

async function emptyManifest(): Promise<SandboxManifest> {
  const { Manifest } = await loadPeer(agentsSandboxPackage);
  return new (Manifest as new () => SandboxManifest)();
}

type NormalizeArgs = (...args: unknown[]) => {
  readonly manifest: SandboxManifest;
  readonly snapshot?: { readonly type?: string };
  readonly options?: object;
};

/** A part of a manifest that the cell would not have must not look as if it had. */
function checkManifest({ root, environment, users, groups, extraPathGrants }: SandboxManifest): void {
  if (root !== "/workspace") throw refused(`the root ${root}`, "leave the root out: it is /workspace");
  if (Object.keys(environment).length > 0) {
    throw refused("environment variables of a manifest", "set them in the policy (env)");
  }
  if (users.length > 0 || groups.length > 0) {
    throw refused("users and groups", "a cell has one user: leave them out, and runAs of the agent too");
  }
  if (extraPathGrants.length > 0) throw refused("extraPathGrants", "mount the files in the policy (fs.mounts)");
}

function refused(what: string, hint: string): CodecellError {
  return new CodecellError("not_supported", `a codecell sandbox does not support ${what}`, { hint });
}
