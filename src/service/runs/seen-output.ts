/** The streams of a run that a program prints to. */
export interface PrintedText {
  readonly stdout: string;
  readonly stderr: string;
}

interface Seen {
  readonly characters: number;
  /** the last of them: whatever does not go on from here is shown from its beginning */
  readonly tail: string;
}

const tailCharacters = 200;
const maxRuns = 200;

/** How much of a run's output its caller has seen, so that the next look shows only what is new. */
export class SeenOutput {
  readonly #runs = new Map<string, Readonly<Record<keyof PrintedText, Seen>>>();

  /** What is new since the last look, and whether there was one. */
  news(runId: string, printed: PrintedText): PrintedText & { readonly isContinued: boolean } {
    const seen = this.#runs.get(runId);
    if (!seen) return { ...printed, isContinued: false };
    const stdout = rest(printed.stdout, seen.stdout);
    const stderr = rest(printed.stderr, seen.stderr);
    if (stdout === undefined || stderr === undefined) return { ...printed, isContinued: false };
    return { stdout, stderr, isContinued: seen.stdout.characters + seen.stderr.characters > 0 };
  }

  remember(runId: string, { stdout, stderr }: PrintedText): void {
    this.#runs.delete(runId);
    this.#runs.set(runId, { stdout: seenOf(stdout), stderr: seenOf(stderr) });
    for (const oldest of this.#runs.keys()) {
      if (this.#runs.size <= maxRuns) break;
      this.#runs.delete(oldest);
    }
  }

  /** The result has been shown: whoever asks once more gets everything. */
  forget(runId: string): void {
    this.#runs.delete(runId);
  }
}

function seenOf(text: string): Seen {
  return { characters: text.length, tail: text.slice(-tailCharacters) };
}

function rest(text: string, { characters, tail }: Seen): string | undefined {
  const isSame = text.slice(characters - tail.length, characters) === tail;
  return isSame && text.length >= characters ? text.slice(characters) : undefined;
}
