import { CodecellError } from "../../lib/errors.ts";
import { AnswerCache } from "../../llm/cache/answer-cache.ts";
import { Tape } from "../../llm/tape/tape.ts";

/** At most one of these files. */
export interface TapeChoice {
  readonly record?: string | undefined;
  readonly replay?: string | undefined;
  readonly resume?: string | undefined;
}

/** Opens the tape that the caller chose; undefined: none. */
export async function openTape({ record, replay, resume }: TapeChoice): Promise<Tape | undefined> {
  if ([record, replay, resume].filter((file) => file !== undefined).length > 1) {
    throw new CodecellError("usage", "a run is recorded, replayed or resumed, and not two of these");
  }
  if (record !== undefined) return Tape.record(record);
  if (replay !== undefined) return Tape.replay(replay);
  return resume === undefined ? undefined : Tape.resume(resume);
}

/** Answers of earlier runs, in a directory. */
export function openCache(directory: string): AnswerCache {
  return new AnswerCache(directory);
}
