import { CodecellError, type CodecellErrorCode, messageOf } from "../../lib/errors.ts";
import { diskFailure } from "../../lib/files/disk-failure.ts";
import { guestError } from "../guest-error.ts";
import { markInError } from "../output/mark-imitations.ts";
import { readableText } from "../output/readable-text.ts";
import { encodeError, type WireError } from "../wire/error.ts";

/** Clients truncate the text of an error at 10,000 characters. */
const maxCharacters = 8_000;

/** What a model can do next, by code. */
export type NextSteps = Readonly<Partial<Record<CodecellErrorCode, string>>>;

/** What a model can do next when a tool failed. */
const usualSteps: Readonly<Record<CodecellErrorCode, string>> = {
  usage: "correct the arguments and call again",
  policy_invalid: "tell the user to correct this server's policy file; no tool works until then",
  policy_refused:
    "tell the user which rule of the policy was refused and why; `codecell policy explain` shows every rule",
  override_refused: "do without it: the policy does not allow it",
  secret_unavailable: "tell the user which secret of the policy has no value; no session starts until it has one",
  runner_unavailable: "tell the user what is missing; `codecell doctor` shows every sandbox and how to install it",
  image_failed: "tell the user: the container image could not be built; `codecell image build` shows why",
  packages_failed: "tell the user which package is the problem and why; do without it, or ask for another version",
  cell_start_failed: "call again once; if it fails again, tell the user to run `codecell doctor`",
  cell_lost: "call again without session_id, which uses the shared session; the variables of this one are lost",
  session_closed: "call again without session_id, which uses the shared session",
  session_busy: 'wait for its run with get_run, stop it with cancel=true, or pass session_id "new"',
  session_unknown: 'check the id; without session_id a call uses the shared session, with "new" another one',
  session_culled: "its state is gone: call again without session_id and repeat the steps you need",
  session_limit: "close a session that you no longer need with close_session",
  run_limit: "wait for one of your runs with get_run, or stop it with cancel=true",
  snapshot_damaged: "start a new session and repeat the steps you need",
  checkpoint_unknown: "use a name that was saved in this session",
  nothing_to_undo: "run code that corrects the variables",
  not_supported: "find another way, such as code: this sandbox does not support it",
  run_gone: "run the code again",
  output_gone: "run the code again and write its output to a file",
  language_unavailable: "write it in Python",
  variable_missing: "list the variables first (rlm_vars, or run `dir()`)",
  variable_unserializable: "ask for an expression that returns text, such as repr(x) or x.head().to_string()",
  expression_failed: "correct the expression",
  file_missing: "check the path; list_artifacts lists the files of the session",
  file_refused: "follow the hint or use another file; what a rule of the policy refuses stays refused",
  too_large: "follow the hint, or use a smaller part at a time",
  audit_failed: "tell the user: the policy requires an audit, and it cannot be written (is the disk full?)",
  budget_exhausted: "finish with what you have: the budget for model calls is used up",
  model_unavailable: "tell the user which model cannot be called and why",
  model_failed: "call again once; if it fails again, tell the user that the model's server fails",
  replay_drift: "tell the user that the recording does not fit this run; record it again",
  disk_failed: "tell the user: codecell cannot write its files (is the disk full or read-only?)",
  unauthorized: "tell the user that the service does not accept the token",
  service_unavailable: "call again once; if it fails again, tell the user that the service cannot be reached",
  aborted: "call again if you still need it",
  internal: "this is a bug in codecell; call again once, then tell the user",
};

/** The next step where the failed tool is the only one and works in one session, if it differs. */
const stepsOfOnlyTool: NextSteps = {
  policy_invalid: "tell the user to correct the policy; no code runs until then",
  cell_lost:
    "call again once and repeat the steps you need, because the variables are lost; if it fails, tell the user",
  session_closed: "tell the user: this program has closed the session, and no code runs in it any more",
  session_busy: "call again later: other code is running in this session",
  session_unknown: "tell the user: the session is gone, and its variables and files with it",
  session_culled: "tell the user: the session expired, and its variables are gone",
  session_limit: "tell the user: no more sessions may be open at once",
  run_limit: "call again later: too many runs are running",
  checkpoint_unknown: "tell the user",
  variable_missing: "list the variables first: run `dir()`",
  file_missing: "check the path: list the directory first",
};

/** The hints of these codes are for users of the library; for a model, `next` is enough. */
const withoutHint: ReadonlySet<CodecellErrorCode> = new Set(["session_unknown", "session_culled"]);

/** An error as text for a model, and as data. */
export interface ErrorReply {
  readonly text: string;
  readonly error: WireError["error"];
}

/** Who reads about an error. */
export interface ErrorReader {
  /** whether it is someone other than the operator, who must learn nothing about the host */
  readonly isGuest?: boolean;
  /** whether the failed tool is the only one that the model has, and works in one session */
  readonly hasOnlyTool?: boolean;
  /** where the next step after the failed tool differs */
  readonly nextSteps?: NextSteps | undefined;
}

/** Why a tool failed, and what the model can do next. For guests, nothing about the host. */
export function errorReply(error: unknown, reader: ErrorReader = {}): ErrorReply {
  const { isGuest = false, hasOnlyTool = false, nextSteps = {} } = reader;
  const { code, message, hint, cause } = isGuest ? guestError(error) : ownError(error);
  const next = (hasOnlyTool ? stepsOfOnlyTool : nextSteps)[code] ?? usualSteps[code];
  // A model cannot choose another runner. Where there is one tool, a program around it has asked for what is not supported.
  const isHinted = hint !== undefined && !withoutHint.has(code) && (hasOnlyTool || code !== "not_supported");
  const causeText = cause === undefined ? undefined : messageOf(cause);
  // parts of the text may come from a cell
  const readable = (text: string) => readableText(text).slice(0, maxCharacters);
  const marked = (text: string) => markInError(readable(text));
  const lines = [
    `${code}: ${marked(message)}`,
    ...(causeText === undefined || message.includes(causeText) ? [] : [`cause: ${marked(causeText.slice(0, 500))}`]),
    ...(isHinted ? [`hint: ${marked(hint)}`] : []),
    `next: ${next}`,
  ];
  const remedy = isHinted ? hint : next;
  return {
    text: lines.join("\n").slice(0, maxCharacters),
    error: encodeError({ code, message: readable(message), hint: readable(remedy) }).error,
  };
}

function ownError(error: unknown): CodecellError {
  if (isCodecellError(error)) return error;
  return diskFailure(error) ?? new CodecellError("internal", messageOf(error));
}

/** Also of another copy of this class, such as the client's: what crosses bundles is not an `instanceof`. */
function isCodecellError(error: unknown): error is CodecellError {
  if (error instanceof CodecellError) return true;
  return error instanceof Error && error.name === "CodecellError" && Object.hasOwn(usualSteps, Object(error).code);
}
