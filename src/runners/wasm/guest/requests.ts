const kinds = ["start", "run", "vars", "get", "complete", "inspect", "reset", "snapshot"] as const;
/** Requests whose body follows as `data` frames. */
const transfers = ["set", "restore", "file.write"] as const;
/** Requests about files in memory, which are answered without Python. */
const fileKinds = ["file.read", "file.place", "file.drop", "file.remove", "file.list"] as const;

type Kind = (typeof kinds)[number] | (typeof transfers)[number] | (typeof fileKinds)[number];
type Header = Readonly<Record<string, unknown>>;

/** A request of the host. The interpreter handles one at a time. */
export interface Request {
  readonly kind: Kind;
  /** 0 for `start`, which has none */
  readonly id: number;
  readonly header: Header;
  readonly body: Uint8Array | undefined;
  readonly timeoutMs: number;
}

const requestTimeoutMs = 30_000;
const known: ReadonlySet<unknown> = new Set([...kinds, ...fileKinds]);
const knownTransfers: ReadonlySet<unknown> = new Set(transfers);

export function isTransfer(header: Header): boolean {
  return knownTransfers.has(header.t);
}

export function isAboutFiles({ kind }: Request): boolean {
  return kind.startsWith("file.");
}

/** Parses a host message. Undefined if it is not a request. The body is copied, because the frame's bytes are reused. */
export function requestOf(header: Header, body: Uint8Array): Request | undefined {
  return known.has(header.t) ? wholeRequest(header, body.length > 0 ? new Uint8Array(body) : undefined) : undefined;
}

/** A request with its complete body, which the receiver may keep. */
export function wholeRequest(header: Header, body: Uint8Array | undefined): Request {
  const { t: kind, id, timeoutMs } = header;
  return {
    kind: kind as Kind,
    id: typeof id === "number" ? id : 0,
    header,
    body,
    timeoutMs: typeof timeoutMs === "number" ? timeoutMs : requestTimeoutMs,
  };
}
