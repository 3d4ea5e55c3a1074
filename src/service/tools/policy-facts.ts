import { formatDuration, formatSize } from "../../policy/format-units.ts";
import { mayHaveProcesses } from "../../policy/isolation.ts";
import type { Policy } from "../../policy/schema.ts";

/** The interpreter of a cell, as an earlier session found it. */
export interface PythonFacts {
  readonly version: string;
  /** those of `notablePackages` that it has */
  readonly packages: readonly string[];
}

/** Functions of the host that call tools of other MCP servers. */
export interface FunctionFacts {
  readonly servers: readonly string[];
  /** what each does, in one line; empty: not known yet */
  readonly lines: Readonly<Record<string, string>>;
}

/** Packages that a model would like to know about, most wanted first. */
export const notablePackages: readonly string[] = [
  ...["numpy", "pandas", "matplotlib", "scipy", "sklearn", "sympy", "PIL", "requests", "polars", "pyarrow", "duckdb"],
  ...["seaborn", "plotly", "networkx", "statsmodels", "openpyxl", "lxml", "bs4", "yaml", "torch", "micropip", "pip"],
];

/**
 * Whether a value that came out of a cell or from a file is such facts. A model reads them in later conversations, so nothing but a
 * version and known names may be in them.
 */
export function isPythonFacts(value: unknown): value is PythonFacts {
  const { version, packages, ...others } = Object(value);
  return (
    typeof version === "string" &&
    /^\d{1,2}\.\d{1,3}\.\d{1,3}[a-z0-9+]{0,10}$/.test(version) &&
    Array.isArray(packages) &&
    packages.length <= notablePackages.length &&
    packages.every((name) => notablePackages.includes(name)) &&
    Object.keys(others).length === 0
  );
}

/** What a policy gives to a program, as a model needs to know it before it writes one. Names no path of the host. */
export interface PolicyFacts {
  readonly timeoutMs: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
  /** hosts that code may reach; undefined: it has no network */
  readonly hosts: readonly string[] | undefined;
  /** paths in the cell, beside the working directory */
  readonly mounts: readonly { readonly target: string; readonly isWritable: boolean }[];
  /** whether a closed session is saved */
  readonly isPersistent: boolean;
  /** false: the policy names a runner without processes, so there is no bash and no checkpoint */
  readonly hasProcesses: boolean;
  /** modules that every session has imported */
  readonly preload: readonly string[];
  /** absent: not known yet */
  readonly python?: PythonFacts;
  /** absent: programs can call no tool of another MCP server */
  readonly functions?: FunctionFacts;
}

const maxNamed = 12;

/** The facts of the empty policy, for a server that has no policy file and must not load the parser. */
export const strictestFacts: PolicyFacts = {
  ...{ timeoutMs: 30_000, memoryBytes: 512 * 1024 ** 2, diskBytes: 256 * 1024 ** 2 },
  ...{ hosts: undefined, mounts: [], isPersistent: false, hasProcesses: true, preload: [] },
};

/** What a policy gives to a program. */
export function policyFacts({ proc, net, fs, session, kernel, isolation }: Policy): PolicyFacts {
  const { timeoutMs, memoryBytes, diskBytes } = proc;
  return {
    ...{ timeoutMs, memoryBytes, diskBytes },
    hosts: net.enabled ? net.allowlist.map(String) : undefined,
    mounts: [
      ...(fs.deps === undefined ? [] : [{ target: "/deps", isWritable: false }]),
      ...fs.mounts.map(({ target, mode }) => ({ target, isWritable: mode === "rw" })),
    ],
    isPersistent: session.persist,
    hasProcesses: mayHaveProcesses(isolation.runner),
    preload: kernel.preload,
  };
}

/** The limits and the interpreter in a few words, for a tool's description. */
export function limitsText(facts: PolicyFacts): string {
  return [limits(facts), ...(facts.functions ? [functionsText(facts.functions)] : [])].join(" ");
}

function limits({ timeoutMs, memoryBytes, diskBytes, hosts, python }: PolicyFacts): string {
  const network = hosts === undefined ? "no network" : `network: ${named(hosts) || "no host is allowed"}`;
  const text = `Limits: ${formatDuration(timeoutMs)} per run, ${formatSize(memoryBytes)} memory, ${formatSize(diskBytes)} disk, ${network}.`;
  return python ? `${text} ${pythonText(python)}.` : text;
}

/** `Python 3.11.2 with numpy, pandas` */
export function pythonText({ version, packages }: PythonFacts): string {
  return `Python ${version} with ${named(packages) || "only the standard library"}`;
}

/** Few characters: a model pays for a description with every request. */
const maxFunctionCharacters = 1_500;

/** The functions that call tools, by name with one line each, as far as there is room. */
export function functionsText({ servers, lines }: FunctionFacts): string {
  let room = maxFunctionCharacters;
  const shown = Object.entries(lines).flatMap(([name, line]) => {
    const text = line === "" ? name : `${name}: ${line}`;
    room -= text.length + 1;
    return room >= 0 ? [`- ${text}`] : [];
  });
  const rest = Object.keys(lines).length - shown.length;
  return [
    `Built-in Python functions call tools of the MCP servers ${named(servers)}: use them in one program instead of many calls. mcp_tools() lists them, help(name) has the parameters.`,
    ...shown,
    ...(rest > 0 ? [`- and ${rest} more`] : []),
  ].join("\n");
}

/** Where files are, for the instructions. */
export function filesText({ mounts, isPersistent, preload }: PolicyFacts): string {
  const seen = mounts.map(({ target, isWritable }) => (isWritable ? `${target} (writable)` : target));
  return [
    `The working directory is /workspace${isPersistent ? " and is saved with its session" : ""}.`,
    ...(seen.length > 0 ? [`Also mounted: ${named(seen)}.`] : ["Nothing else of the user's machine is visible."]),
    ...(preload.length > 0 ? [`Already imported: ${named(preload)}.`] : []),
  ].join(" ");
}

function named(names: readonly string[]): string {
  const rest = names.length - maxNamed;
  return `${names.slice(0, maxNamed).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
