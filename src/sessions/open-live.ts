import { resolve } from "node:path";
import { type Audit, silentAudit } from "../audit/audit.ts";
import { ObservedAudit } from "../audit/observed-audit.ts";
import { Cleanup } from "../lib/cleanup.ts";
import type { Logger } from "../lib/log/logger.ts";
import { guardPolicyFile } from "../policy/file/guard-policy-file.ts";
import { loadPolicy } from "../policy/file/load-policy.ts";
import { parsePolicy } from "../policy/file/parse-policy.ts";
import { rememberWritable } from "../policy/file/policy-trust.ts";
import type { Policy } from "../policy/schema.ts";
import { type CodecellOptions, isShared, keepsFilesInCell } from "./codecell-options.ts";
import { guardAudit, guardCompiledCode, guardPackages, guardWarmSockets } from "./guard-audit.ts";
import { LiveSessions } from "./live-sessions.ts";
import { openAudit } from "./open-audit.ts";
import type { OpenBuildCell } from "./packages/build-cell.ts";
import { packagesDirectory, SessionPackages } from "./packages/session-packages.ts";
import { auditKind, hostRules } from "./rules/host-rules.ts";

/** What `Codecell.open` opens before it looks at any disk: the policy with its guards, the audit and the runner. */
export async function openLive(
  options: CodecellOptions,
  { logger, stateDir, openBuildCell }: { logger: Logger; stateDir: string; openBuildCell: OpenBuildCell },
): Promise<{ live: LiveSessions; audit: Audit }> {
  await using cleanup = new Cleanup();
  for (const runner of options.runners ?? []) cleanup.defer(() => runner[Symbol.asyncDispose]());
  const policy = await policyOf(options.policy);
  if (options.audit === undefined) await guardAudit(policy, stateDir);
  await guardCompiledCode(policy);
  await guardWarmSockets(policy);
  await guardPackages(policy, packagesDirectory(stateDir));
  await rememberWritable(policy, stateDir);
  const audit = options.audit ?? openAudit(policy, { stateDir, logger });
  const { runtimeDir } = options;
  const runners =
    options.runners ?? (await import("../runners/built-in-runners.ts")).builtInRunners(logger, { runtimeDir });
  const kind = auditKind(policy, options.audit);
  const recorded = kind === "none" ? silentAudit : audit;
  const observable = recorded === silentAudit && !options.isObservable ? silentAudit : new ObservedAudit(recorded);
  cleanup.move(); // from here on the runners are disposed by who opens them
  const live = await LiveSessions.open({
    ...{ policy, runners, logger, audit: observable },
    packages: new SessionPackages(policy.kernel.packages, packagesDirectory(stateDir), options.packages, openBuildCell),
    egress: { ...(runtimeDir === undefined ? {} : { runtimeDir }), ...options.egress },
    hostRules: ({ takesWorkspace }) =>
      hostRules(policy, {
        ...{ audit: kind, hostCalls: options.hostCalls },
        keepsFiles: takesWorkspace && !keepsFilesInCell(options, policy),
        medium: isShared(options) ? "postgresql" : "files",
      }),
  });
  return { live, audit };
}

async function policyOf(given: CodecellOptions["policy"]): Promise<Policy> {
  if (typeof given === "string") {
    return guardPolicyFile(await loadPolicy(given), { cwd: process.cwd(), file: resolve(given) });
  }
  const policy = isParsed(given) ? given : parsePolicy(given ?? {});
  return guardPolicyFile(policy, { cwd: process.cwd(), file: undefined });
}

/** What people write has durations and sizes in words; a field in milliseconds is only in what was parsed. */
function isParsed(given: CodecellOptions["policy"]): given is Policy {
  return (
    typeof given === "object" &&
    given !== null &&
    "proc" in given &&
    typeof given.proc === "object" &&
    "timeoutMs" in given.proc
  );
}
