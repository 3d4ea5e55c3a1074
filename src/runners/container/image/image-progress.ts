import type { IncomingMessage } from "node:http";
import { CodecellError, messageOf } from "../../../lib/errors.ts";

/** Progress of building, pulling or importing an image. */
export type ImageProgress =
  /** a step starts */
  | { readonly type: "step"; readonly text: string }
  /** progress within a step */
  | { readonly type: "detail"; readonly text: string };

export type OnProgress = (progress: ImageProgress) => void;

const longestLine = 1024 * 1024;
const longestText = 300;
/** A package manager prints nothing while it downloads, and the connection may be slow. */
const longestSilenceMs = 30 * 60_000;

/** Reports the progress in a streamed answer. `failed` creates the error from the engine's message. */
export async function followProgress(
  answer: IncomingMessage,
  onProgress: OnProgress,
  failed: (text: string) => CodecellError,
): Promise<void> {
  answer.setTimeout(longestSilenceMs, () => answer.destroy(new Error("it sent nothing for 30 minutes")));
  const parser = new ProgressParser();
  try {
    for await (const line of linesOf(answer)) {
      for (const progress of parser.push(line)) {
        if (progress.type === "failed") throw failed(progress.text);
        onProgress(progress);
      }
    }
  } catch (error) {
    throw error instanceof CodecellError ? error : failed(`the connection to the engine failed: ${messageOf(error)}`);
  } finally {
    answer.destroy();
  }
}

/** Splits a stream into lines. */
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
  /** the incomplete last line of a build's output, which engines pass on in pieces of any size */
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

/** Removes colors, because the output may go to a log. */
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
