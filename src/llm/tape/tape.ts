import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { CodecellError } from "../../lib/errors.ts";
import { diskFailure } from "../../lib/files/disk-failure.ts";
import { SerialQueue } from "../../lib/waiting/serial-queue.ts";
import type { Amount } from "../budget/amounts.ts";
import { difference, type RequestIdentity } from "../request-hash.ts";
import { callsToRepeat, type Loss, readTape, sum } from "./read-tape.ts";
import { type DoneLine, doneLineOf, type TapedCall, type TapeLine, tapedError, tapedResponse } from "./tape-line.ts";

/**
 * `record`: a new file. `replay`: nothing is sent to a model, and what is not on the tape is an error. `resume`: what is on the tape is
 * replayed, the rest is sent and recorded.
 */
export type TapeMode = "record" | "replay" | "resume";

/** Where a request comes from, to find the call on the tape that it should have been. */
export interface TapePlace {
  readonly purpose: string;
  readonly parent: string;
}

const nothing: Amount = { calls: 0, tokens: 0, usd: 0 };

/** A recording of every model call of a run: append-only JSONL, readable only by its owner. It has answers, and hashes of prompts. */
export class Tape implements AsyncDisposable {
  readonly mode: TapeMode;
  readonly path: string;
  readonly #file: FileHandle | undefined;
  readonly #queue = new SerialQueue();
  /** recorded calls that have not been replayed, by hash, in the order of the recording */
  readonly #unused: Map<string, DoneLine[]>;
  /** what was spent on calls that are not replayed, and is not charged yet */
  #losses: readonly Loss[];
  #nextCall: number;
  #failure: unknown;

  private constructor(
    mode: TapeMode,
    path: string,
    file: FileHandle | undefined,
    calls: readonly DoneLine[],
    more: { readonly losses: readonly Loss[]; readonly nextCall: number },
  ) {
    this.mode = mode;
    this.path = path;
    this.#file = file;
    this.#losses = more.losses;
    this.#nextCall = more.nextCall;
    this.#unused = groupedByHash(calls);
  }

  /** Starts a recording. The file must not exist: a recording is never overwritten. */
  static async record(path: string): Promise<Tape> {
    const file = await opened(path, "ax");
    return new Tape("record", path, file, [], { losses: [], nextCall: 0 });
  }

  /** Replays a recording, without a model. */
  static async replay(path: string): Promise<Tape> {
    const file = await opened(path, "r");
    try {
      const { calls, ...more } = await readTape(file, path);
      return new Tape("replay", path, undefined, calls, more);
    } finally {
      await file.close();
    }
  }

  /** Continues a recording that was interrupted. A torn last line is cut off. */
  static async resume(path: string): Promise<Tape> {
    const file = await opened(path, constants.O_RDWR | constants.O_APPEND);
    try {
      const { calls, losses, nextCall, goodBytes } = await readTape(file, path);
      await file.truncate(goodBytes);
      const dropped = new Set(callsToRepeat(calls));
      const repeated = calls.filter(({ call }) => dropped.has(call));
      const more = repeated.map(({ charged }) => ({ beforeCall: nextCall, amount: charged }));
      const kept = calls.filter(({ call }) => !dropped.has(call));
      const tape = new Tape("resume", path, file, kept, { losses: [...losses, ...more], nextCall });
      await tape.#write({ v: 1, type: "resumed", dropped: [...dropped] });
      return tape;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** How many recorded calls have not been replayed. */
  get unused(): number {
    return [...this.#unused.values()].reduce((total, { length }) => total + length, 0);
  }

  /** The recorded outcome of a request. Identical requests get theirs in the order of the recording. */
  take({
    hash,
  }: RequestIdentity): (Pick<TapedCall, "outcome" | "charged" | "isCached"> & { call: number }) | undefined {
    const line = this.#unused.get(hash)?.shift();
    if (!line) return undefined;
    const { response, error, charged, isCached = false } = line;
    const failed = error ?? { code: "internal", message: "the tape has no outcome of this call" };
    return {
      outcome: response ? { response: tapedResponse(response) } : { error: tapedError(failed) },
      ...{ charged, isCached, call: line.call },
    };
  }

  /**
   * What interrupted runs spent in vain before this recorded call, or before a call that is sent now. Each amount is returned once,
   * so that the budget of a replay is the recorded one at every call: prompts say what is left.
   */
  takeLost(beforeCall = Number.POSITIVE_INFINITY): Amount {
    const due = this.#losses.filter((loss) => loss.beforeCall <= beforeCall);
    this.#losses = this.#losses.filter((loss) => !due.includes(loss));
    return due.map(({ amount }) => amount).reduce(sum, nothing);
  }

  /** The error for a request that is not on the tape. It names the call that the tape has instead. */
  drift({ hash, parts }: RequestIdentity, { purpose, parent }: TapePlace): CodecellError {
    const unused = [...this.#unused.values()].flat().sort((a, b) => a.call - b.call);
    const expected = unused.find((line) => line.purpose === purpose && line.parent === parent) ?? unused[0];
    const where = `a ${purpose} call of ${parent}`;
    const why = expected
      ? `the next recorded call (number ${expected.call + 1}, ${expected.purpose} of ${expected.parent}) is another: ${difference(parts, expected.request) || "it has the same content"}`
      : "every recorded call has been replayed";
    return new CodecellError("replay_drift", `${where} is not on the tape: ${why}`, {
      hint: "replay with the same inputs, code and limits as the recording, or resume it to call a model for the rest",
      details: { hash, purpose, parent, ...(expected && { expected: expected.hash }) },
    });
  }

  /**
   * Notes that a call is about to be sent, so that a crash cannot hide its cost. Returns its number. If it is sent again, `held` is
   * what it may have cost altogether.
   */
  async sent(hash: string, held: Amount, call = this.#nextCall++): Promise<number> {
    await this.#write({ v: 1, type: "sent", call, hash, held });
    return call;
  }

  /** Records how a call ended; `call` is its number, if it was sent. */
  async done(taped: TapedCall, call = this.#nextCall++): Promise<void> {
    await this.#write(doneLineOf(call, taped));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue.settled();
    await this.#file?.close();
  }

  /** One write per line, and none after a failed one: its start may be in the file, and would swallow the next line. */
  async #write(line: TapeLine): Promise<void> {
    const file = this.#file;
    if (!file) return;
    await this.#queue.run(async () => {
      if (this.#failure !== undefined) throw this.#failure;
      try {
        await file.appendFile(`${JSON.stringify(line)}\n`);
      } catch (error) {
        this.#failure = diskFailure(error) ?? error;
        throw this.#failure;
      }
    });
  }
}

async function opened(path: string, flags: string | number): Promise<FileHandle> {
  try {
    return await open(path, flags, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new CodecellError("file_missing", `${path} does not exist`, { cause: error });
    if (code === "EEXIST")
      throw new CodecellError("usage", `${path} already exists, and a recording is never overwritten`, {
        hint: "choose another file, or resume this one",
      });
    throw diskFailure(error) ?? error;
  }
}

function groupedByHash(calls: readonly DoneLine[]): Map<string, DoneLine[]> {
  const groups = new Map<string, DoneLine[]>();
  for (const line of calls) groups.set(line.hash, [...(groups.get(line.hash) ?? []), line]);
  return groups;
}
