import { CodecellError } from "../../lib/errors.ts";
import { parseJson } from "../../lib/json/parse-json.ts";
import { aborted } from "../../lib/waiting/aborted.ts";
import { DeadlinePassed, deadline } from "../../lib/waiting/deadline.ts";
import { failureError } from "./failure.ts";
import { failureOfConnection, failureOfStatus } from "./http-failure.ts";
import type { SecretHider } from "./secret-hider.ts";

export interface PostOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly signal: AbortSignal;
  /** for one attempt, the whole response included */
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  readonly fetch: typeof globalThis.fetch;
  readonly hide: SecretHider;
  /** for messages: who is called */
  readonly who: string;
}

export interface JsonResponse {
  readonly json: unknown;
  readonly headers: Headers;
}

const maxErrorBytes = 64 * 1024;
const maxQuotedCharacters = 300;

/** Posts JSON and reads JSON, once. What goes wrong is one `CodecellError` without secrets. */
export async function postJson(options: PostOptions): Promise<JsonResponse> {
  const { signal, who, hide } = options;
  if (signal.aborted) throw aborted(signal);
  using limit = deadline(options.timeoutMs, signal);
  let response: Response | undefined;
  try {
    response = await options.fetch(options.url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", ...options.headers },
      body: JSON.stringify(options.body),
      signal: limit.signal,
      // The attack: a redirect to another host, which would get the key in its own header along with the prompt.
      redirect: "manual",
    });
    if (!response.ok) throw await statusError(response, options);
    const text = await readText(response, options);
    return { json: parsed(text, options), headers: response.headers };
  } catch (error) {
    if (error instanceof CodecellError) throw error;
    if (signal.aborted) throw aborted(signal);
    if (limit.signal.reason instanceof DeadlinePassed)
      throw failureError(`${who} did not answer within ${options.timeoutMs} ms`, {
        ...{ reason: "timeout", isRetryable: true, mayBeCharged: true },
      });
    const code = codeOf(error);
    const what = response ? "the answer broke off" : "the connection failed";
    const text = hide(`${new URL(options.url).origin}: ${causeTexts(error).join(": ")}`);
    throw failureError(
      `${who}: ${what}${code && ` (${code})`}`,
      failureOfConnection(code, response !== undefined),
      text,
    );
  }
}

async function statusError(response: Response, { who, hide }: PostOptions): Promise<CodecellError> {
  const { status, headers } = response;
  const body = await startOf(response);
  // after parsing: JSON can spell a key with escapes
  const said = quoted(hide(serverMessage(body) ?? body));
  const failure = failureOfStatus(status, headers, body);
  return failureError(`${who} answered ${status}${said && `: ${said}`}`, failure);
}

/** Cut after hiding: half a key is a secret too. */
function quoted(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > maxQuotedCharacters ? `${line.slice(0, maxQuotedCharacters)}…` : line;
}

/** Both APIs have the message in `error.message`. */
function serverMessage(body: string): string | undefined {
  try {
    const { error } = parseJson(body) as { error?: { message?: unknown } | string };
    const message = typeof error === "string" ? error : error?.message;
    return typeof message === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}

/** The start of an error's body; it explains, so its own failures do not matter. */
async function startOf(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of response.body ?? []) {
      pieces.push(piece);
      size += piece.length;
      if (size > maxErrorBytes) break;
    }
  } catch {
    // what came so far is enough
  }
  return Buffer.concat(pieces).toString("utf8");
}

async function readText(response: Response, { maxResponseBytes, who }: PostOptions): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response.body ?? []) {
    size += piece.length;
    if (size > maxResponseBytes)
      throw failureError(`${who} sent more than ${maxResponseBytes} bytes`, {
        ...{ reason: "oversized", isRetryable: false, mayBeCharged: true },
      });
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

function parsed(text: string, { who }: PostOptions): unknown {
  try {
    return parseJson(text);
  } catch {
    // without the parser's message: it quotes a few characters, which may be from the middle of a key
    throw malformed(who, "it is not valid JSON");
  }
}

export function malformed(who: string, why: string, cause?: string): CodecellError {
  const failure = { reason: "malformed", isRetryable: true, mayBeCharged: true } as const;
  return failureError(`${who} sent an answer that cannot be read: ${why}`, failure, cause);
}

function codeOf(error: unknown): string {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } };
  const found = cause?.code ?? code;
  return typeof found === "string" ? found : "";
}

function causeTexts(error: unknown): string[] {
  const texts: string[] = [];
  for (let one = error; one instanceof Error && texts.length < 5; one = one.cause) texts.push(one.message);
  return texts.filter((text) => text !== "");
}
