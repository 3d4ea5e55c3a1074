import { formatDuration, formatSize } from "../../policy/format-units.ts";
import type { Policy } from "../../policy/schema.ts";
import type { RunResult } from "../../sessions/runs/run.ts";
import { type PythonFacts, pythonText } from "../tools/policy-facts.ts";
import { packageNeed } from "./package-need.ts";

/** What is known where a run ended. */
export interface RunSurroundings {
  /** of the session, as it applies now; undefined: the session is gone */
  readonly policy: Policy | undefined;
  /** peak memory of the cell; undefined: unknown */
  readonly peakMemoryBytes?: number | undefined;
  /** ids of the other sessions that this caller has used */
  readonly otherSessions?: readonly string[];
  /** what the cell's interpreter has; undefined: not asked */
  readonly python?: PythonFacts | undefined;
  /** whether the tool that ran the code is the only one that the model has, so that no other may be named */
  readonly isOnlyTool?: boolean;
}

const networkFailure =
  /Name or service not known|Temporary failure in name resolution|Network is unreachable|No address associated with hostname|Could not resolve host|Host is unreachable/;
const processFailure = /Resource temporarily unavailable|can't start new thread|Cannot fork/i;
const diskFailure = /\[Errno (?:27|28|122)\]|No space left on device|Disk quota exceeded/;
const maxOtherSessions = 3;
const pipInside = "packages are installed from Python here: run %pip install NAME";
const pipRemedy =
  "packages cannot be installed from inside: the user names them in the policy (kernel.packages), and the host installs them";

/** Whether a remedy needs to know more than the result says. */
export function needsSurroundings({ status, error }: RunResult): boolean {
  return (status !== "ok" && status !== "cancelled") || error !== undefined;
}

/** The module that a run could not import. */
export function missingModule({ error }: RunResult): string | undefined {
  if (error?.name.split(".").at(-1) !== "ModuleNotFoundError") return undefined;
  return /^No module named '([\w.]{1,100})'/.exec(error.message)?.[1];
}

/** Why a run did not end well and what to do about it, as far as the policy explains it: one sentence each. */
export function runRemedies(result: RunResult, around: RunSurroundings): string[] {
  const { status, error, stderr } = result;
  const { policy } = around;
  const said = `${error?.name}: ${error?.message}\n${stderr.slice(-4_000)}`;
  if (status === "timeout") return [timeoutRemedy(result, around)];
  if (status === "out_of_memory" || isNamed(error, "MemoryError")) return [memoryRemedy(result, around)];
  if (status === "output_limit") {
    return [
      `it printed far more than proc.output${policy ? ` (${formatSize(policy.proc.outputBytes)})` : ""}: write to a file instead`,
    ];
  }
  if (status === "crashed") return ["the interpreter crashed: do not run the same code again unchanged"];
  if (status !== "error" || policy === undefined) return [];
  const module = missingModule(result);
  if (module !== undefined) return [moduleRemedy(module, around)];
  if (packageNeed(result)?.kind === "pip") return [policy.kernel.packages.inside ? pipInside : pipRemedy];
  if (isNamed(error, "NameError") && result.id === 1) return [freshRemedy(around.otherSessions ?? [])];
  if (networkFailure.test(said) && !policy.net.enabled) {
    const instead = around.isOnlyTool
      ? "tell the user"
      : "bring data in with rlm_load or upload_file, or tell the user";
    return [`there is no network in this sandbox (net.enabled): ${instead}`];
  }
  if (processFailure.test(said)) {
    return [
      `at most ${policy.proc.pids} processes and threads may run at once (proc.pids): start fewer, and wait for them`,
    ];
  }
  if (diskFailure.test(said)) {
    return [`files may take ${formatSize(policy.proc.diskBytes)} in total (proc.disk): remove some, or write less`];
  }
  if (!hiddenPath(error, policy)) return [];
  const instead = around.isOnlyTool ? "tell the user which one you need" : "rlm_load or upload_file brings one in";
  return [`files of the user's machine are not visible here: ${instead}`];
}

function timeoutRemedy({ durationMs }: RunResult, { policy, isOnlyTool }: RunSurroundings): string {
  const limitMs = policy?.proc.timeoutMs;
  if (limitMs === undefined || durationMs < limitMs) {
    const most = limitMs === undefined ? "" : ` up to ${limitMs / 1000}`;
    return `the timeout of the call passed: pass a longer timeout${most}${isOnlyTool ? "" : ", with wait=0 to poll with get_run"}`;
  }
  return `${formatDuration(limitMs)} is the longest run that the policy allows (proc.timeout): do the work in shorter runs`;
}

function memoryRemedy({ usage }: RunResult, { policy, peakMemoryBytes }: RunSurroundings): string {
  // the cell's own figure counts copies of the interpreter too
  const peak = usage.peakMemoryBytes ?? lower(peakMemoryBytes, policy?.proc.memoryBytes);
  const used = peak === undefined ? "" : `, peak ${formatSize(Math.round(peak / 2 ** 20) * 2 ** 20)}`;
  const limit = policy ? ` ${formatSize(policy.proc.memoryBytes)}` : "";
  return `memory limit${limit} (proc.memory)${used}: work on the data in parts`;
}

function lower(bytes: number | undefined, limit: number | undefined): number | undefined {
  return bytes === undefined || limit === undefined ? bytes : Math.min(bytes, limit);
}

function moduleRemedy(module: string, { policy, python }: RunSurroundings): string {
  if (policy?.kernel.packages.inside) return `install the package that has ${module}: run %pip install NAME in Python`;
  const has = python ? `here is ${pythonText(python)}; ` : "";
  const install = policy?.net.enabled ? "" : "there is no network to install it from; ";
  const choices = "kernel.packages, kernel.python, kernel.image";
  return `${has}${install}the user can give the sandbox ${module} in the policy (${choices})`;
}

function freshRemedy(others: readonly string[]): string {
  const also = others.slice(0, maxOtherSessions).join(", ");
  return `this session is new and has no variables yet${also === "" ? "" : `; you also have ${also}`}`;
}

/** A path that exists on most machines, but not in the cell. */
function hiddenPath(error: RunResult["error"], policy: Policy): boolean {
  if (!isNamed(error, "FileNotFoundError") && !isNamed(error, "PermissionError")) return false;
  const path = /: '(\/[^'\n]*)'/.exec(error?.message ?? "")?.[1];
  if (path === undefined) return false;
  const seen = ["/workspace", "/deps", "/tmp", ...policy.fs.mounts.map(({ target }) => target)];
  return !seen.some((target) => path === target || path.startsWith(`${target}/`));
}

function isNamed(error: RunResult["error"], name: string): boolean {
  return error?.name.split(".").at(-1) === name;
}
