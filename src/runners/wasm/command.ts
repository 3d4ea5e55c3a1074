import process from "node:process";

/** The neutral path of the runtime directory inside bubblewrap. */
const insideRuntime = "/runtime";
const insidePackages = "/packages";
export const insideNode = "/node";

export interface BubblewrapSupport {
  readonly program: string;
  /** shared libraries of Node, by the paths from which it loads them */
  readonly libraries: readonly string[];
  /** whether user namespaces inside can be disabled (bubblewrap 0.8) */
  readonly disablesNamespaces: boolean;
}

export interface CellCommand {
  readonly program: string;
  readonly arguments: readonly string[];
}

export interface CommandParts {
  readonly node: string;
  readonly runtime: string;
  /** file in guest/ */
  readonly entry: string;
  readonly entryArguments: readonly string[];
  /** host directory of packages, which the cell copies into the interpreter's memory */
  readonly packages?: string | undefined;
  readonly bubblewrap: BubblewrapSupport | undefined;
  /** limit on writable private memory in bytes; undefined if no shell can set it */
  readonly dataBytes: number | undefined;
}

/** Pure: the whole command line of a cell. */
export function cellCommand(parts: CommandParts): CellCommand {
  const { bubblewrap, runtime, node, packages } = parts;
  const inside = bubblewrap === undefined ? runtime : insideRuntime;
  const program = [
    bubblewrap === undefined ? node : insideNode,
    ...nodeFlags(inside, packagesInside(parts)),
    `${inside}/guest/${parts.entry}`,
    ...parts.entryArguments,
  ];
  const wrapped =
    bubblewrap === undefined
      ? program
      : [...bubblewrapArguments(bubblewrap, { node, runtime, packages }), "--", ...program];
  const limited =
    parts.dataBytes === undefined
      ? wrapped
      : ["/bin/sh", "-c", `ulimit -c 0; ulimit -d ${Math.floor(parts.dataBytes / 1024)}; exec "$@"`, "sh", ...wrapped];
  const [first = node, ...rest] = limited;
  return { program: first, arguments: rest };
}

/** Where the cell's process finds its packages. */
export function packagesInside({ bubblewrap, packages }: Pick<CommandParts, "bubblewrap" | "packages">) {
  return packages === undefined || bubblewrap === undefined ? packages : insidePackages;
}

/** Flags of every process that evaluates Pyodide. V8 rejects a code cache from a process with other flags. */
export function nodeFlags(runtime: string, packages?: string): string[] {
  const permission = process.allowedNodeEnvironmentFlags.has("--permission")
    ? "--permission"
    : "--experimental-permission";
  return [
    permission, // Node's own functions cannot use files, processes or addons, except as the next lines allow
    `--allow-fs-read=${runtime}/*`,
    ...(packages === undefined ? [] : [`--allow-fs-read=${packages}/*`]),
    "--allow-worker",
    "--no-addons",
    "--disallow-code-generation-from-strings", // an outer `Function` that leaks cannot create code
    "--frozen-intrinsics", // an outer prototype that leaks cannot be changed
    "--disable-proto=delete",
    "--max-old-space-size=256",
    "--stack-size=4000",
    "--no-warnings",
  ];
}

/** A root with only Node, its libraries and the runtime files, without network and without other processes. */
export function bubblewrapArguments(
  support: BubblewrapSupport,
  paths: { node: string; runtime?: string; packages?: string | undefined },
): string[] {
  return [
    support.program,
    ...["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...(support.disablesNamespaces ? ["--disable-userns"] : []),
    ...["--uid", "1000", "--gid", "1000", "--hostname", "cell"],
    ...["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"],
    ...["--ro-bind", paths.node, insideNode],
    ...support.libraries.flatMap((path) => ["--ro-bind", path, path]),
    ...(paths.runtime === undefined ? [] : ["--ro-bind", paths.runtime, insideRuntime]),
    ...(paths.packages === undefined ? [] : ["--ro-bind", paths.packages, insidePackages]),
    ...["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/", "--chdir", "/"],
  ];
}
