import type { IncomingMessage } from "node:http";
import { CodecellError, messageOf } from "../../lib/errors.ts";

/** What an engine, or what works for it, says while an image comes to be. */
export type ImageProgress =
  /** a part of the work begins */
  | { readonly type: "step"; readonly text: string }
  /** something within it happened */
  | { readonly type: "detail"; readonly text: string }
  | { readonly type: "failed"; readonly text: string };

export type OnProgress = (progress: ImageProgress) => void;

const longestLine = 1024 * 1024;
const longestText = 300;
/** A package manager is silent while it downloads, and a line may be slow. */
const longestSilenceMs = 30 * 60_000;

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

/** Tells what an answer says while it comes; `failed` makes the error of what the engine calls one. */
export async function followProgress(
  answer: IncomingMessage,
  onProgress: OnProgress,
  failed: (text: string) => CodecellError,
): Promise<void> {
  answer.setTimeout(longestSilenceMs, () => answer.destroy(new Error("it said nothing for half an hour")));
  try {
    for await (const line of linesOf(answer)) {
      const progress = parseProgress(line);
      if (progress?.type === "failed") throw failed(progress.text);
      if (progress !== undefined) onProgress(progress);
    }
  } catch (error) {
    throw error instanceof CodecellError ? error : failed(`the engine went away: ${messageOf(error)}`);
  } finally {
    answer.destroy();
  }
}

/** Pure: one line of a build, a pull or a load, as Docker and Podman send it; undefined: nothing to tell. */
export function parseProgress(line: string): ImageProgress | undefined {
  const message = parseMessage(line);
  if (message === undefined) return undefined;
  if (typeof message.error === "string") return { type: "failed", text: tidy(message.error) };
  if (typeof message.stream === "string") return streamProgress(tidy(message.stream));
  if (typeof message.status !== "string" || message.status === "") return undefined;
  const layer = typeof message.id === "string" && message.id !== "" ? `${message.id}: ` : "";
  return { type: "detail", text: tidy(`${layer}${message.status}${share(message.progressDetail)}`) };
}

/** Docker writes `Step 2/5 : RUN x`, Podman `STEP 2/5: RUN x`. */
function streamProgress(text: string): ImageProgress | undefined {
  if (text === "") return undefined;
  const step = /^step (\d+)\/(\d+) ?: (.*)$/i.exec(text);
  if (!step) return { type: "detail", text };
  const [, number, total, what = ""] = step;
  return { type: "step", text: `step ${number} of ${total}: ${what}` };
}

function share(detail: unknown): string {
  if (typeof detail !== "object" || detail === null) return "";
  const { current, total } = detail as { current?: unknown; total?: unknown };
  if (typeof current !== "number" || typeof total !== "number" || total <= 0) return "";
  return ` ${Math.min(100, Math.floor((100 * current) / total))}%`;
}

/** One line without colours: what follows an escape is for a terminal, and this may be a log. */
function tidy(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ESC is what starts a sequence
  const plain = text.replace(/\u001b\[[0-9;]*m/g, "");
  const oneLine = plain.replace(/\s+/g, " ").trim();
  return oneLine.length > longestText ? `${oneLine.slice(0, longestText)}…` : oneLine;
}

function parseMessage(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
