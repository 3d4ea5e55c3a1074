/** What the host asks of the interpreter, one at a time. */
export interface Request {
  readonly kind: "start" | "run" | "vars" | "get" | "set" | "reset";
  /** 0 for `start`, which has none */
  readonly id: number;
  readonly header: Readonly<Record<string, unknown>>;
  readonly body: Uint8Array | undefined;
  readonly timeoutMs: number;
}

export const requestTimeoutMs = 30_000;

/** Reads a host message; undefined for kinds that are no request. The body is copied: the frame's bytes are reused. */
export function requestOf(header: Readonly<Record<string, unknown>>, body: Uint8Array): Request | undefined {
  const { t: kind, id, timeoutMs } = header;
  if (kind !== "start" && kind !== "run" && kind !== "vars" && kind !== "get" && kind !== "reset") return undefined;
  return {
    kind,
    id: typeof id === "number" ? id : 0,
    header,
    body: body.length > 0 ? new Uint8Array(body) : undefined,
    timeoutMs: typeof timeoutMs === "number" ? timeoutMs : requestTimeoutMs,
  };
}
