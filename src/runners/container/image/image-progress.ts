import type { IncomingMessage } from "node:http";
import { CodecellError, messageOf } from "../../../lib/errors.ts";

/** What an engine, or what works for it, says while an image comes to be. */
export type ImageProgress =
  /** a part of the work begins */
  | { readonly type: "step"; readonly text: string }
  /** something within it happened */
  | { readonly type: "detail"; readonly text: string };

export type OnProgress = (progress: ImageProgress) => void;

const longestLine = 1024 * 1024;
const longestText = 300;
/** A package manager is silent while it downloads, and a line may be slow. */
const longestSilenceMs = 30 * 60_000;

/** Tells what an answer says while it comes; `failed` makes the error of what the engine calls one. */
export async function followProgress(
  answer: IncomingMessage,
  onProgress: OnProgress,
  failed: (text: string) => CodecellError,
): Promise<void> {
  answer.setTimeout(longestSilenceMs, () => answer.destroy(new Error("it said nothing for half an hour")));
  const parser = new ProgressParser();
  try {
    for await (const line of linesOf(answer)) {
      for (const progress of parser.push(line)) {
        if (progress.type === "failed") throw failed(progress.text);
        onProgress(progress);
      }
    }
  } catch (error) {
    throw error instanceof CodecellError ? error : failed(`the engine went away: ${messageOf(error)}`);
  } finally {
    answer.destroy();
  }
}

/** The lines of an answer that comes in pieces. */
export async function* linesOf(stream: AsyncIterable<Buffer | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of stream) {
    rest += typeof piece === "string" ? piece : decoder.decode(piece, { stream: true });
    const lines = rest.split(/\r?\n/);
    rest = lines.pop() ?? "";
    if (rest.length > longestLine) {
      throw new CodecellError("runner_unavailable", "the container engine sent a line that is too long");
    }
    yield* lines;
  }
  if (rest !== "") yield rest;
}

/** Reads the messages of a build, a pull or a load, as Docker and Podman send them. */
export class ProgressParser {
  /** what a build printed of a line so far: engines pass its output on as it comes, letter by letter if need be */
  #printed = "";

  push(line: string): (ImageProgress | { readonly type: "failed"; readonly text: string })[] {
    const message = parseMessage(line);
    if (message === undefined) return [];
    if (typeof message.error === "string") return [{ type: "failed", text: oneLine(message.error) }];
    if (typeof message.stream === "string") return this.#lines(message.stream).flatMap(printedProgress);
    if (typeof message.status !== "string" || message.status === "") return [];
    const layer = typeof message.id === "string" && message.id !== "" ? `${message.id}: ` : "";
    return [{ type: "detail", text: shorten(oneLine(`${layer}${message.status}${share(message.progressDetail)}`)) }];
  }

  #lines(text: string): string[] {
    const lines = (this.#printed + text).split("\n");
    this.#printed = (lines.pop() ?? "").slice(-longestLine);
    return lines;
  }
}

/** Docker writes `Step 2/5 : RUN x`, Podman `STEP 2/5: RUN x`. */
function printedProgress(line: string): ImageProgress[] {
  const text = shorten(oneLine(line));
  if (text === "") return [];
  const step = /^step (\d+)\/(\d+) ?: (.*)$/i.exec(text);
  if (!step) return [{ type: "detail", text }];
  const [, number, total, what = ""] = step;
  return [{ type: "step", text: `step ${number} of ${total}: ${what}` }];
}

function share(detail: unknown): string {
  if (typeof detail !== "object" || detail === null) return "";
  const { current, total } = detail as { current?: unknown; total?: unknown };
  if (typeof current !== "number" || typeof total !== "number" || total <= 0) return "";
  return ` ${Math.min(100, Math.floor((100 * current) / total))}%`;
}

/** Without colours, which are for a terminal, while this may be a log. */
function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ESC is what starts a sequence
  const plain = text.replace(/\u001b\[[0-9;]*m/g, "");
  return plain.replace(/\s+/g, " ").trim();
}

function shorten(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText)}…` : text;
}

function parseMessage(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
