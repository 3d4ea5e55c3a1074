import type { FoundProblem } from "./file/plain-copy.ts";
import type { PolicyPath } from "./file/problem.ts";
import { nearest } from "./file/suggest.ts";
import { compareIsolation } from "./isolation.ts";
import { inspectCovers } from "./network/inspect.ts";
import { builtinDeny } from "./paths/builtin-deny.ts";
import { denyMatcher } from "./paths/deny.ts";
import { isHostGlob } from "./paths/glob.ts";
import { hostGrants } from "./paths/host-grants.ts";
import { isBelow } from "./paths/host-path.ts";
import { deniedSource } from "./paths/host-source.ts";
import type { Policy } from "./schema.ts";

/** Problems between rules that are each valid on their own. */
export function inconsistencies(policy: Policy): FoundProblem[] {
  return [
    ...isolationProblems(policy),
    ...liftProblems(policy),
    ...sourceProblems(policy),
    ...pythonProblems(policy),
    ...secretProblems(policy),
    ...packageProblems(policy),
  ];
}

function* isolationProblems({ isolation: { runner, minimum } }: Policy): Iterable<FoundProblem> {
  // what a pod is worth depends on its cluster, which the runner asks
  if (runner === "auto" || runner === "kubernetes" || compareIsolation(runner, minimum) >= 0) return;
  yield { path: ["isolation", "runner"], message: `${runner} is below isolation.minimum, which is ${minimum}` };
}

/** A `!glob` that matches no built-in entry would silently do nothing. */
function* liftProblems({ fs, overrides }: Policy): Iterable<FoundProblem> {
  const lists: [PolicyPath, readonly string[]][] = [
    [["fs", "deny"], fs.deny],
    [["overrides", "ceiling", "fs", "deny"], overrides.ceiling.fs?.deny ?? []],
  ];
  for (const [path, globs] of lists) {
    for (const [index, glob] of globs.entries()) {
      const lifted = glob.startsWith("!") ? glob.slice(1) : undefined;
      // `!//path` keeps a path open that the command line would deny because an environment variable names it.
      if (lifted === undefined || builtinDeny.includes(lifted) || isHostGlob(lifted)) continue;
      const near = nearest(lifted, builtinDeny);
      const message = "! removes an entry of the built-in list, but this is not one of its entries";
      yield { path: [...path, index], message, suggestion: near && `!${near}` };
    }
  }
}

function* sourceProblems({ fs }: Policy): Iterable<FoundProblem> {
  const matcher = denyMatcher(fs.deny);
  const loadable = fs.load.map((source, index) => ({ path: ["fs", "load", index], source }));
  for (const { path, source } of [...hostGrants({ fs }), ...loadable]) {
    const glob = deniedSource(source, matcher);
    if (glob !== undefined) yield { path, message: `${source} is denied by ${glob}` };
  }
}

/** The attack: a program rewrites the interpreter that starts the next session. */
function* pythonProblems({ fs, kernel: { python } }: Policy): Iterable<FoundProblem> {
  if (python === undefined) return;
  for (const { path, source, isWritable } of hostGrants({ fs })) {
    if (!isWritable || !(python === source || isBelow(python, source))) continue;
    yield {
      path: ["kernel", "python"],
      message: `${python} can be rewritten from inside the cell, through ${path[1]}`,
    };
  }
}

/** Both would be at /deps. */
function* packageProblems({ fs, kernel }: Policy): Iterable<FoundProblem> {
  if (fs.deps === undefined || kernel.packages.install.length === 0) return;
  yield {
    path: ["kernel", "packages"],
    message: "packages and fs.deps would both be at /deps: mount the directory elsewhere with fs.mounts, or remove one",
  };
}

/** Variables that the cell itself needs: to find programs, libraries, the proxy and its certificates. */
const takenVariables =
  /^(?:PATH|HOME|LANG|PYTHON.*|.*_proxy|.*_PROXY|SSL_CERT_FILE|.*_CA_BUNDLE|PIP_CERT|.*_CAINFO|NODE_.*)$/;

/** Secrets that could never be used, or that the cell could read directly. */
function* secretProblems({ fs, net, env }: Policy): Iterable<FoundProblem> {
  const seen = [...hostGrants({ fs }).map(({ source }) => source), ...fs.load];
  for (const [name, { from, hosts, plaintext }] of Object.entries(net.secrets)) {
    const path = ["net", "secrets", name];
    if (Object.hasOwn(env, name)) yield { path, message: `env also sets ${name}`, at: "key" };
    if (takenVariables.test(name)) yield { path, message: `${name} is reserved for the cell itself`, at: "key" };
    const file = from.startsWith("file:") ? from.slice("file:".length) : undefined;
    const shown = seen.find((source) => file !== undefined && (file === source || isBelow(file, source)));
    if (shown !== undefined)
      yield { path: [...path, "from"], message: `the cell can read ${shown}, which contains this file` };
    for (const [index, host] of hosts.entries()) {
      if (plaintext || net.inspect.some((pattern) => inspectCovers(pattern, host))) continue;
      const message = `${host} is not in net.inspect, so the proxy cannot insert a secret into TLS traffic to it`;
      yield { path: [...path, "hosts", index], message };
    }
  }
}
