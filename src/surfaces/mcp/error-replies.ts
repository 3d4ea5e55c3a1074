import type { CallToolResult } from "@modelcontextprotocol/server";
import { CodecellError, type CodecellErrorCode, messageOf } from "../../lib/errors.ts";
import { diskFailure } from "../../lib/files/disk-failure.ts";
import { readableText } from "../../service/output/readable-text.ts";
import { encodeError } from "../../service/wire/error.ts";
import { guestError } from "../guest-error.ts";

/** The error as data. Not structured content: that has to match the tool's output schema, and clients check it. */
export const errorMeta = "codecell/error";

/** Clients cut the text of an error at 10,000 characters. */
const maxCharacters = 8_000;

/** What a model can do next when a tool failed. */
const nextSteps: Readonly<Record<CodecellErrorCode, string>> = {
  usage: "correct the arguments and call again",
  policy_invalid: "tell the user: the policy file of this server has to be corrected, and no tool works before that",
  policy_refused:
    "tell the user: no isolation on this machine can hold the policy; `codecell doctor` shows what there is",
  override_refused: "do without it: the policy does not allow it",
  secret_unavailable: "tell the user which secret of the policy has no value; no session starts before it has one",
  runner_unavailable: "tell the user what is missing; `codecell doctor` shows every isolation and how to get it",
  image_failed: "tell the user: the image of the cells could not be made; `codecell image build` says why",
  cell_start_failed: "call again once; if it fails again, tell the user to look at `codecell doctor`",
  cell_lost: "call again without session_id to start a new session; variables of this one are lost",
  session_closed: "call again without session_id to start a new session",
  session_busy: "wait for its run with get_run, stop it with cancel_run, or use another session",
  session_unknown: "its state is gone: call again without session_id to start a new session, and use the id it returns",
  session_culled: "its state is gone: call again without session_id and repeat what you need",
  session_limit: "close a session that you no longer need with close_session",
  run_limit: "wait for one of your runs with get_run, or stop it with cancel_run",
  snapshot_damaged: "start a new session and repeat what you need",
  checkpoint_unknown: "use a name that checkpoint returned in this session",
  not_supported: "do it in another way: this isolation cannot do it",
  run_gone: "run the code again",
  output_gone: "run the code again and let it write its output to a file",
  language_unavailable: "write it in Python",
  variable_missing: "look at the variables first (rlm_vars, or run `dir()`)",
  variable_unserializable: "ask for an expression that gives text, such as repr(x) or x.head().to_string()",
  expression_failed: "correct the expression",
  file_missing: "look at the files with list_artifacts",
  file_refused: "use another file: the policy does not give this one out, and asking again will not change that",
  too_large: "take it in parts",
  audit_failed: "tell the user: the policy asks for a durable audit, and it cannot be written (is the disk full?)",
  disk_failed: "tell the user: what codecell keeps cannot be written (is the disk full, or read-only?)",
  aborted: "call again if it is still needed",
  internal: "this is a fault of codecell; call again once, then tell the user",
};

/** Where `next` says what a model can do, and the hint is for a program that holds the sessions itself. */
const withoutHint: ReadonlySet<CodecellErrorCode> = new Set(["session_unknown", "session_culled"]);

/** A tool that failed. Clients drop structured content here, so the text says all of it; to a guest, all that is theirs. */
export function errorReply(error: unknown, isForGuests = false): CallToolResult {
  const known = isForGuests ? guestError(error) : ownError(error);
  const { code, message, hint, cause } = known;
  const causeText = cause === undefined ? undefined : messageOf(cause);
  const lines = [
    `${code}: ${message}`,
    ...(causeText === undefined || message.includes(causeText) ? [] : [`cause: ${causeText.slice(0, 500)}`]),
    ...(hint === undefined || withoutHint.has(code) ? [] : [`hint: ${hint}`]),
    `next: ${nextSteps[code]}`,
  ];
  // parts of it may come from a cell
  const readable = (text: string) => readableText(text).slice(0, maxCharacters);
  const remedy = hint === undefined || withoutHint.has(code) ? nextSteps[code] : hint;
  const { error: told } = encodeError({ code, message: readable(message), hint: readable(remedy) });
  return { content: [{ type: "text", text: readable(lines.join("\n")) }], isError: true, _meta: { [errorMeta]: told } };
}

function ownError(error: unknown): CodecellError {
  if (error instanceof CodecellError) return error;
  return diskFailure(error) ?? new CodecellError("internal", messageOf(error));
}
