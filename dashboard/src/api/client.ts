import { refusal, token } from "../state/token.ts";
import { ApiError, asApiError, errorOf } from "./api-error.ts";
import { pathPart } from "./path-part.ts";

/** How one call goes. */
export interface CallOptions {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** sent as JSON */
  readonly json?: unknown;
  /** sent as it is */
  readonly body?: BodyInit;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** A session as the page names it: its id, and its namespace if it belongs to another token. */
export interface SessionRef {
  readonly id: string;
  readonly namespace?: string | undefined;
}

/** A call of the HTTP API. Throws an `ApiError`; a call that was aborted throws its `AbortError`. */
export async function call(path: string, options: CallOptions = {}): Promise<Response> {
  const { method = "GET", json, body, headers = {}, signal } = options;
  const content = json === undefined ? body : JSON.stringify(json);
  const type = json === undefined ? {} : { "content-type": "application/json" };
  const response = await fetch(path, {
    method,
    headers: { authorization: `Bearer ${token.value ?? ""}`, ...type, ...headers },
    ...(content === undefined ? {} : { body: content }),
    ...(signal ? { signal } : {}),
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
  }).catch((thrown: unknown) => {
    if (thrown instanceof DOMException && thrown.name === "AbortError") throw thrown;
    throw asApiError(thrown);
  });
  if (response.ok) return response;
  const error = await errorOf(response);
  if (response.status === 401 && token.value !== undefined) {
    refusal.value = new ApiError("unauthorized", "The service does not accept this token.", {
      status: 401,
      hint: "It was removed or has expired, or the service was started again with another one.",
    });
    token.value = undefined; // shows the form that asks for a token
  }
  throw error;
}

/** The same for an answer in JSON. */
export async function getJson<T>(path: string, options: CallOptions = {}): Promise<T> {
  const response = await call(path, options);
  try {
    return (await response.json()) as T;
  } catch (thrown) {
    if (thrown instanceof DOMException) throw thrown;
    throw new ApiError("bad_answer", "the answer of the service was cut off", { hint: "try again" });
  }
}

/** A path below a session, such as `/runs`, with a query. */
export function sessionPath(
  { id, namespace }: SessionRef,
  rest = "",
  query: Readonly<Record<string, string | number | boolean | undefined>> = {},
): string {
  const all = Object.entries({ ...query, namespace }).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(all.map(([key, value]) => [key, String(value)])).toString();
  return `/v1/sessions/${pathPart(id)}${rest}${search === "" ? "" : `?${search}`}`;
}
