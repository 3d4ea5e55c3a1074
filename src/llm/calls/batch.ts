import { CodecellError, type CodecellErrorCode } from "../../lib/errors.ts";
import type { Hold } from "../budget/budget.ts";
import type { LmRequest } from "../client.ts";
import { requestIdentity } from "../request-hash.ts";
import type { LmAnswer } from "./call-event.ts";

/** The result of one request of a batch. */
export type BatchItem =
  | {
      readonly ok: true;
      readonly response: LmAnswer /** answered by the call of this index */;
      readonly duplicateOf?: number;
    }
  | { readonly ok: false; readonly error: CodecellError; readonly duplicateOf?: number };

export interface BatchSteps {
  /** Throws if a request cannot be sent. */
  check(request: LmRequest): void;
  /** Reserves this many calls, or throws. */
  reserve(count: number): readonly Hold[];
  run(request: LmRequest, prepaid: Hold | undefined): Promise<LmAnswer>;
}

/** Failures of one call. Others concern the whole batch: a tape that does not fit, an audit that cannot be written, a bug. */
const ofOneCall: ReadonlySet<CodecellErrorCode> = new Set([
  ...(["model_failed", "model_unavailable", "budget_exhausted", "too_large", "usage", "aborted"] as const),
]);

export async function completeBatch(requests: readonly LmRequest[], steps: BatchSteps): Promise<BatchItem[]> {
  const firstOf = new Map<string, number>();
  const sources = requests.map((request, index) => {
    const wantsVariety = (request.temperature ?? 0) > 0;
    const key = wantsVariety ? `${index}` : requestIdentity(request).hash;
    const first = firstOf.get(key) ?? index;
    firstOf.set(key, first);
    return first;
  });
  const refused = new Map<number, CodecellError>();
  const accepted = [...new Set(sources)].filter((index) => {
    const error = refusal(() => steps.check(requests[index] as LmRequest));
    if (error) refused.set(index, error);
    return !error;
  });
  const holds = accepted.length === 0 ? [] : steps.reserve(accepted.length);
  const results = new Map<number, BatchItem>([...refused].map(([index, error]) => [index, { ok: false, error }]));
  const failures: CodecellError[] = [];
  await Promise.all(
    accepted.map(async (index, position) => {
      try {
        results.set(index, { ok: true, response: await steps.run(requests[index] as LmRequest, holds[position]) });
      } catch (thrown) {
        const error = thrown as CodecellError;
        if (!ofOneCall.has(error.code)) failures.push(error);
        results.set(index, { ok: false, error });
      }
    }),
  );
  if (failures[0]) throw failures[0];
  return sources.map((source, index) => {
    const result = results.get(source) as BatchItem;
    return source === index ? result : { ...result, duplicateOf: source };
  });
}

function refusal(check: () => void): CodecellError | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof CodecellError) return error;
    throw error;
  }
}
