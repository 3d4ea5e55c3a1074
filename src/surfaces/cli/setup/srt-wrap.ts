import { dirname, join } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { userHome } from "../../../lib/files/user-home.ts";
import { homeDirectory, isBelow, refusedPlace } from "../../../policy/paths/host-path.ts";
import type { Policy } from "../../../policy/schema.ts";
import { coveredPaths, type SrtNote } from "../../../policy/srt/srt-notes.ts";
import { type SrtSettings, srtSettings } from "../../../policy/srt/srt-settings.ts";
import type { CommandContext } from "../command.ts";
import { servedPolicy } from "../policy/served-policy.ts";
import { findSrt, type SrtProgram } from "./find-srt.ts";
import type { McpEntry } from "./mcp-json.ts";
import { planInsideSrt } from "./plan-inside-srt.ts";
import { gatherSrtPaths } from "./srt-paths.ts";
import { type WrapPlaces, wrapPlaces } from "./srt-settings-file.ts";

export interface SrtWrap extends WrapPlaces {
  readonly entry: McpEntry;
  readonly settings: SrtSettings;
  readonly notes: readonly SrtNote[];
}

/** Plans how to start the server inside srt; `args` are those of `codecell mcp`. Changes nothing. */
export async function planSrtWrap(
  scope: string,
  args: { launcher: readonly string[]; mcp: readonly string[]; policy: string | undefined },
  context: CommandContext,
): Promise<SrtWrap> {
  const { terminal } = context;
  const srt = await findSrt(terminal.env.PATH ?? "");
  const places = wrapPlaces(scope, terminal);
  const served = await servedPolicy({ policy: args.policy }, terminal);
  const stateDir = join(places.stateHome, "codecell");
  const unopened = served.file === undefined ? whyUnopened(scope, served.policy, stateDir) : undefined;
  const policy = unopened === undefined ? served.policy : { ...served.policy, fs: { ...served.policy.fs, load: [] } };
  const { refused, needsEngine } = await planInsideSrt(policy, context);
  const [refusal] = refused;
  if (refusal !== undefined) {
    const message = `inside srt, code runs in the wasm runner, which refuses ${refusal.rule}: ${refusal.reason}`;
    throw new CodecellError("policy_refused", message, { hint: `${refusal.hint}, or omit --wrap` });
  }
  const { insideFiles } = srt;
  const runtimeDir = join(stateDir, "run"); // so that two wrapped servers of one project see each other's locks
  const paths = await gatherSrtPaths(policy, {
    ...{ stateDir, policyFile: served.file, insideFiles, needsEngine, env: terminal.env },
  });
  const covered = coveredPaths(policy, paths).find(({ path }) => path === stateDir);
  if (covered !== undefined) {
    const message = `the policy opens ${covered.by} for reading, which contains the server's state directory; srt would make that read-only`;
    throw new CodecellError("policy_refused", message, { hint: "set a smaller directory in the policy" });
  }
  const { settings, notes } = srtSettings(policy, paths);
  const pinned = served.file === undefined ? [] : ["--policy", served.file];
  const server = [...args.launcher, "mcp", ...args.mcp, "--runtime-dir", runtimeDir, ...pinned];
  const entry = wrapEntry(srt, { ...places, server, home: userHome(terminal.env) ?? "/" });
  const project =
    unopened === undefined ? [] : [{ rules: ["fs.load"], note: `${unopened}, so rlm_load cannot read files` }];
  return { ...places, entry, settings, notes: [...notes, ...project] };
}

/** Why the project is not opened. A server without a policy file may normally load its files. */
function whyUnopened(scope: string, { fs }: Policy, stateDir: string): string | undefined {
  if (scope === "user") return "--scope user opens no project";
  const [project = "/"] = fs.load;
  if (isBelow(stateDir, project)) return `${project} contains the server's state directory`;
  return refusedPlace(project, { writable: false, homeDir: homeDirectory(undefined) });
}

interface EntryParts extends WrapPlaces {
  readonly server: readonly string[];
  readonly home: string;
}

/** Pure: the command that a client starts. */
function wrapEntry(srt: SrtProgram, { settingsFile, stateHome, server, home }: EntryParts): McpEntry {
  const searchPath = [...new Set([...srt.searchPath, dirname(process.execPath), "/usr/bin", "/bin"])].join(":");
  return {
    command: "/usr/bin/env",
    args: [
      "-i", // the client's environment contains keys
      `PATH=${searchPath}`,
      `HOME=${home}`,
      `XDG_STATE_HOME=${stateHome}`,
      "LANG=C.UTF-8",
      "SHLVL=1", // without it, bash mistakes the pipe for a remote shell and runs the user's .bashrc
      ...[process.execPath, srt.script, "--settings", settingsFile, "--", ...server],
    ],
  };
}
