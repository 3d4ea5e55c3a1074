import { hostGrants, writableHostPaths } from "../paths/host-grants.ts";
import { isBelow } from "../paths/host-path.ts";
import type { RuleName } from "../rules.ts";
import { ruleNames } from "../rules.ts";
import type { Policy } from "../schema.ts";
import type { SrtPaths } from "./srt-settings.ts";

/** A rule that srt does not enforce, or a cost of the settings. */
export interface SrtNote {
  /** empty: about srt as a whole */
  readonly rules: readonly string[];
  readonly note: string;
}

type Answer = (policy: Policy, paths: SrtPaths) => string | undefined;

const noLimits: Answer = () =>
  "srt has no limits: the runner inside enforces these for each cell, and nothing limits the server itself";
const noNetLimits: Answer = (policy, paths) => (policy.net.enabled ? noLimits(policy, paths) : undefined);
const heldInside: Answer = () => "enforced by the server and its runner inside srt, which does not know about sessions";
const heldByServer: Answer = ({ llm }) =>
  llm.models.length === 0 ? undefined : "enforced by the server inside srt, which does not know about models";
const modelHosts: Answer = ({ llm }) =>
  llm.models.length === 0
    ? undefined
    : "srt lets the server reach only hosts of net.allowlist: it cannot call a model whose host is not among them";
const toolLimits: Answer = ({ tools }) =>
  tools.allow.length === 0 ? undefined : "enforced by the server inside srt, which does not know about tools";
const toolServers: Answer = ({ tools }) =>
  tools.allow.length === 0
    ? undefined
    : "MCP servers that the server starts run inside srt too, with what it may reach";
const noProxyInside = "srt's own proxy does none of this, and no cell with a network starts inside srt";
const wholeServer = "open to the whole server, not only to one cell: srt does not know about cells";

/** What srt does not enforce, rule by rule. `undefined`: the settings enforce it, or there is nothing to enforce. */
const answers: Record<RuleName, Answer> = {
  "isolation.minimum": ({ isolation }, { engineSocket }) => {
    if (engineSocket !== undefined) return undefined;
    const inside = "no other sandbox starts inside srt, so code runs in the wasm runner, without bubblewrap around it";
    return isolation.minimum === "wasm" ? inside : `${inside}; this policy asks for more, and every call is refused`;
  },
  "fs.workspace": ({ fs }) =>
    fs.workspace === undefined
      ? undefined
      : `${wholeServer}; while the server runs, srt creates empty files such as .bashrc and .mcp.json in it if it is the current directory`,
  "fs.deps": ({ fs }) => (fs.deps === undefined ? undefined : wholeServer),
  "fs.mounts": ({ fs }) => (fs.mounts.length === 0 ? undefined : wholeServer),
  "fs.load": ({ fs }) => (fs.load.length === 0 ? undefined : wholeServer),
  "fs.deny": ({ fs }) =>
    fs.workspace === undefined && fs.deps === undefined && fs.mounts.length === 0 && fs.load.length === 0
      ? undefined
      : "srt hides files that matched when these settings were made, and files at the top of each directory that match (case-sensitively) when the server starts; for other files only the server enforces it",
  "net.enabled": ({ net }) =>
    net.enabled ? "srt opens these hosts to the whole server, and only through its own proxy" : undefined,
  "net.allowlist": () => undefined,
  "net.deny": () => undefined,
  "net.inspect": ({ net }) => (net.inspect.length === 0 ? undefined : noProxyInside),
  "net.rules": ({ net }) => (net.rules.length === 0 ? undefined : noProxyInside),
  "net.secrets": ({ net }) => (Object.keys(net.secrets).length === 0 ? undefined : noProxyInside),
  "net.connections": noNetLimits,
  "net.requests": noNetLimits,
  "net.sent": noNetLimits,
  "net.received": noNetLimits,
  "proc.timeout": noLimits,
  "proc.cpus": noLimits,
  "proc.memory": noLimits,
  "proc.pids": noLimits,
  "proc.files": noLimits,
  "proc.disk": noLimits,
  "proc.exactDisk": noLimits,
  "proc.output": noLimits,
  "proc.background": noLimits,
  env: heldInside,
  "session.recovery": heldInside,
  "session.idle": heldInside,
  "session.lifetime": heldInside,
  "session.limit": heldInside,
  "session.persist": heldInside,
  "session.checkpoints": heldInside,
  "session.undo": heldInside,
  "session.pool": heldInside,
  "kernel.preload": heldInside,
  "kernel.python": ({ kernel }) =>
    kernel.python === undefined
      ? undefined
      : "the host's Python does not run inside srt: the wasm runner brings its own",
  "kernel.image": ({ kernel }) =>
    kernel.image === undefined ? undefined : "no container runs inside srt: the wasm runner brings its own Python",
  "kernel.packages": ({ kernel }) =>
    kernel.packages.install.length === 0
      ? undefined
      : "srt lets the server reach only hosts of net.allowlist: packages that are not cached come from an index among them",
  "llm.models": modelHosts,
  "llm.calls": heldByServer,
  "llm.tokens": heldByServer,
  "llm.usd": heldByServer,
  "llm.depth": heldByServer,
  "llm.concurrency": heldByServer,
  "llm.promptChars": heldByServer,
  "llm.callTimeout": heldByServer,
  "llm.timeout": heldByServer,
  "tools.allow": toolServers,
  "tools.calls": toolLimits,
  "tools.timeout": toolLimits,
  "tools.arguments": toolLimits,
  "tools.result": toolLimits,
  "audit.enabled": heldInside,
  "audit.code": heldInside,
  "audit.durable": heldInside,
  "audit.keep": heldInside,
  "audit.age": heldInside,
};

/** Pure: the limits of the settings. Rules with the same note share it. */
export function srtNotes(policy: Policy, paths: SrtPaths): SrtNote[] {
  const rules = new Map<string, RuleName[]>();
  for (const rule of ruleNames) {
    const note = answers[rule](policy, paths);
    if (note !== undefined) rules.set(note, [...(rules.get(note) ?? []), rule]);
  }
  return [...[...rules].map(([note, names]) => ({ rules: names, note })), ...generalNotes(policy, paths)];
}

/** Writable paths below a read-only one: srt mounts the read-only path over them. */
export function coveredPaths(policy: Policy, { stateDir, runtimeDir }: SrtPaths): { path: string; by: string }[] {
  const writable = [stateDir, runtimeDir, ...writableHostPaths(policy)].filter((path) => path !== undefined);
  const reading = hostGrants(policy).filter(({ isWritable }) => !isWritable);
  const readable = [...reading.map(({ source }) => source), ...policy.fs.load];
  return writable.flatMap((path) => readable.filter((by) => isBelow(path, by)).map((by) => ({ path, by })));
}

function generalNotes(policy: Policy, paths: SrtPaths): SrtNote[] {
  const { platform, engineSocket } = paths;
  const general = [
    ...coveredPaths(policy, paths).map(
      ({ path, by }) => `${path} is read-only inside srt, because ${by} is open for reading`,
    ),
    ...(platform === "darwin"
      ? ["on macOS srt hides only home directories, volumes and temporary files; the rest of the system stays readable"]
      : []),
    ...(engineSocket === undefined
      ? []
      : ["any program that can open the container engine's socket can become root on this machine"]),
    ...(engineSocket !== undefined && platform === "linux"
      ? ["on Linux srt cannot tell one socket from another, so every Unix socket that the server can see is open to it"]
      : []),
  ];
  return general.map((note) => ({ rules: [], note }));
}
