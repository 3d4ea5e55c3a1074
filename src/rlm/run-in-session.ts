import type { ModelSetup } from "../llm/clients/models-from-environment.ts";
import type { Prices } from "../llm/money/prices.ts";
import type { Session } from "../sessions/session.ts";
import { ModelAccess } from "./access/model-access.ts";
import { openTape, type TapeChoice } from "./access/recordings.ts";
import type { RlmLimits } from "./loop/limits.ts";
import { type RlmInput, type RlmRun, runRlm as runIn } from "./loop/run-rlm.ts";
import { sessionCell } from "./loop/session-cell.ts";
import type { Signature } from "./signature/signature.ts";

/** Options of `runRlm`. */
export interface RunRlmOptions extends TapeChoice {
  /** `"question, docs: list[str] -> answer"`, the name of a ready one, or a signature */
  readonly signature: string | Signature;
  /** values, or variables that the session has already */
  readonly inputs: Readonly<Record<string, RlmInput>>;
  /** what to do, in addition to the signature */
  readonly instructions?: string;
  /** the models and keys of this host; the policy's `llm` says which may be called, and how much */
  readonly models: ModelSetup & { readonly prices?: Prices };
  /** lower than the policy's */
  readonly limits?: Partial<RlmLimits>;
  /** where to record the run; the file must not exist */
  readonly trajectoryPath?: string;
  readonly signal?: AbortSignal;
}

/** Lets a model answer by writing and running code in a session. Throws at once for what can never work. */
export async function runRlm(session: Session, options: RunRlmOptions): Promise<RlmRun> {
  const { signature, inputs, instructions, models, trajectoryPath, signal } = options;
  const access = ModelAccess.open(() => session.policy, models, { isReplay: options.replay !== undefined });
  const limits = access.limits(options.limits);
  const tape = await openTape(options);
  const run = runIn({
    ...{
      signature,
      inputs,
      limits,
      cell: sessionCell(session),
      root: access.root,
      sub: access.sub,
      budget: access.budget,
    },
    models: access.gateway({
      ...{ session: session.key, audit: session.managed.audit?.audit },
      ...(tape ? { tape } : {}),
    }),
    ...(instructions === undefined ? {} : { instructions }),
    ...(trajectoryPath === undefined ? {} : { trajectoryPath }),
    ...(signal === undefined ? {} : { signal }),
  });
  const close = () => void tape?.[Symbol.asyncDispose]();
  run.result.then(close, close);
  return run;
}
