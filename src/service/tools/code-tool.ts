import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import { defaultLanguage, type Language, languageNames } from "../../policy/languages.ts";
import type { Policy } from "../../policy/schema.ts";
import type { CodeSession } from "../../sessions/code-session.ts";
import type { RunResult, RunStatus } from "../../sessions/runs/run.ts";
import { errorReply } from "../replies/error-text.ts";
import { reportRun } from "../replies/run-view.ts";
import { codeDescription, maxTimeoutSeconds, timeoutDescription } from "./code-description.ts";
import { limitsText, policyFacts } from "./policy-facts.ts";

/** How a tool that runs code is offered to a model. */
export interface CodeToolOptions {
  /** text to add to the description, such as which files the session has */
  readonly about?: string;
  /**
   * what the session may do: limits in the description, and what to do when a run reaches one. Default: the policy of the session,
   * if it is one of this process
   */
  readonly policy?: Policy;
}

/** What a model passes to the tool. */
export interface CodeInput {
  readonly code: string;
  /** default: python */
  readonly language?: Language | null | undefined;
  /** seconds */
  readonly timeout?: number | null | undefined;
}

/** What the tool answers. */
export interface CodeOutput {
  /** how the run ended; anything but `ok` is a failure of the program or a limit */
  readonly status: RunStatus;
  /** what a model reads: the status, why it failed and what to do, then what it produced */
  readonly text: string;
  /** PNG images that the run displayed, in base64 */
  readonly images: readonly { readonly data: string; readonly mimeType: string }[];
}

/** Null means absent: strict modes of some providers send every property. */
export const codeInputSchema = z.strictObject({
  code: z.string(),
  language: z.enum(languageNames).nullish().describe(`Default: ${defaultLanguage}.`),
  timeout: z.number().positive().max(maxTimeoutSeconds).nullish().describe(timeoutDescription),
});

/** The one tool of a framework: it runs code in one session, here or on another machine. */
export interface CodeTool {
  readonly description: string;
  /** Runs the code after those that were called before. Throws a `CodecellError` whose message tells the model what to do. */
  call(input: CodeInput, signal?: AbortSignal): Promise<CodeOutput>;
}

export function codeToolOf(session: CodeSession, options: CodeToolOptions = {}): CodeTool {
  const policyNow = () => options.policy ?? policyOf(session);
  const policy = policyNow();
  const parts = [codeDescription, ...(policy ? [limitsText(policyFacts(policy))] : []), options.about ?? ""];
  return {
    description: parts.filter((part) => part !== "").join(" "),
    call: async (input, signal) => {
      try {
        const result = await ended(session, parsed(input), signal);
        return { status: result.status, ...reportRun(result, { policy: policyNow() }) };
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        throw toldError(error);
      }
    },
  };
}

/** The error with the text that a model reads as its message, for frameworks that show a model only the message. */
export function toldError(error: unknown): CodecellError {
  const { text, error: facts } = errorReply(error, { hasOnlyTool: true });
  return new CodecellError(facts.code as CodecellError["code"], text, { cause: error });
}

function parsed(input: CodeInput): CodeInput {
  const { success, data, error } = codeInputSchema.safeParse(input);
  if (success) return data;
  throw new CodecellError("usage", `the arguments are not valid: ${z.prettifyError(error)}`);
}

async function ended(session: CodeSession, input: CodeInput, signal: AbortSignal | undefined): Promise<RunResult> {
  signal?.throwIfAborted();
  const result = await session.run(input.code, {
    language: input.language ?? defaultLanguage,
    whenBusy: "queue",
    ...(input.timeout == null ? {} : { timeout: input.timeout * 1000 }),
    ...(signal ? { signal } : {}),
  });
  signal?.throwIfAborted();
  return result;
}

/** The library's session has its policy; another may have none, or one in another form. */
export function policyOf(session: CodeSession): Policy | undefined {
  const { policy } = session as { policy?: Partial<Policy> };
  const isWhole = typeof policy?.proc?.timeoutMs === "number" && Array.isArray(policy.fs?.mounts) && policy.net;
  return isWhole ? (policy as Policy) : undefined;
}
