import { CodecellError } from "../lib/errors.ts";
import { detectOuterSandbox, type OuterSandbox } from "../runners/outer-sandbox.ts";
import { readHostFacts } from "../runners/process/host-facts.ts";
import type { PassedOver } from "../runners/registry.ts";

export type { OuterSandbox };

type Environment = Readonly<Record<string, string | undefined>>;

/** The sandbox around this process, if one is detected. */
export async function findOuterSandbox(env: Environment): Promise<OuterSandbox | undefined> {
  return detectOuterSandbox(env, readHostFacts());
}

/** The same error. If the sandbox around this process is a likely cause, the error names it. */
export async function namingOuterSandbox(error: unknown, env: Environment): Promise<unknown> {
  if (!(error instanceof CodecellError) || !mayBeFromOutside(error)) return error;
  const outer = await findOuterSandbox(env).catch(() => undefined);
  return outer !== undefined && isLikelyCause(outer, error) ? explained(error, outer) : error;
}

/** Pure: the error with the sandbox that may be its cause. */
function explained(error: CodecellError, { kind, name, remedy }: OuterSandbox): CodecellError {
  const { code, message, cause, details } = error;
  // In a container, the runner's own hint has the exact flags.
  const remedies = kind === "container" && error.hint !== undefined ? [error.hint] : [remedy, error.hint];
  return new CodecellError(code, `${message}; codecell runs inside ${name}`, {
    hint: remedies.filter((text) => text !== undefined).join("; or else: "),
    details: { ...details, outerSandbox: kind },
    cause: cause ?? error,
  });
}

function mayBeFromOutside({ code, details }: CodecellError): boolean {
  if (details.isUnknownRunner) return false;
  if (code === "runner_unavailable" || code === "cell_start_failed") return true;
  // If every runner is available, the policy is the cause and not the sandbox.
  const passedOver: readonly PassedOver[] =
    code === "policy_refused" && Array.isArray(details.passedOver) ? details.passedOver : [];
  return passedOver.some(({ kind }) => kind === "unavailable");
}

/** What the OS or bubblewrap say when a sandbox forbids something. A full disk or a missing package says none of it. */
const signsOfDenial =
  /bwrap:|namespace|unshare|uid_map|seccomp|operation not permitted|permission denied|\b(?:EPERM|EACCES)\b/i;

/**
 * Pure: whether a sandbox is a likely cause of this error. A sandbox for shell commands blocks every runner but wasm, so it
 * explains an unavailable runner. Most containers block nothing, so there the error itself must show that something was
 * forbidden. A cell that does not start comes after a successful trial, so it needs the same evidence everywhere.
 */
export function isLikelyCause({ kind, name }: OuterSandbox, { code, message, details }: CodecellError): boolean {
  const isAmbient = kind === "container" || kind === "user-namespace";
  if (message.includes(name)) return false; // said already
  if (/forbids namespaces|inside another sandbox/.test(message)) return !isAmbient; // the name and its remedy say more
  if (!isAmbient && code !== "cell_start_failed") return true;
  const diagnostics = typeof details.diagnostics === "string" ? details.diagnostics : "";
  return signsOfDenial.test(`${message}\n${diagnostics}`);
}
