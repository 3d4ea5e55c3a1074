import type { FileStream } from "../artifacts/workspace-file.ts";
import { CodecellError } from "../lib/errors.ts";
import { pause } from "./http/backoff.ts";
import { JoinedSignal } from "./http/signals.ts";
import { Transport } from "./http/transport.ts";
import { openDownload } from "./session/download.ts";
import { RemoteSession, sessionPath } from "./session/remote-session.ts";
import { decodeSessionInfo, type RemoteSessionInfo } from "./wire/decode-session.ts";
import { Fields } from "./wire/fields.ts";

/** Which events of the audit. */
export interface AuditQuery {
  readonly session?: string;
  /** number of the run in its session */
  readonly run?: number;
  /** such as `run.ended`, or `run` for all types that start with it */
  readonly types?: readonly string[];
  readonly since?: Date;
  readonly until?: Date;
  /** `start`: from the first event; default: the last ones */
  readonly from?: "start" | "end";
  /** the `next` of the previous page */
  readonly after?: string;
  readonly limit?: number;
}

/** An event of the audit. Other fields depend on its type: docs/audit.md has them all. */
export interface RemoteAuditEvent {
  readonly time: string;
  readonly type: string;
  readonly [field: string]: unknown;
}

/** Events of the audit, oldest first. */
export interface AuditPage {
  readonly events: readonly RemoteAuditEvent[];
  /** `after` of the next page; also set at the end, to get new events later */
  readonly next: string;
  /** whether there are more already */
  readonly hasMore: boolean;
}

/** What the verification of an audit found. */
export interface RemoteAuditReport {
  readonly isSound: boolean;
  readonly chains: readonly { readonly chain: string; readonly lines: number; readonly head: string | undefined }[];
  readonly problems: readonly { readonly chain: string; readonly message: string }[];
}

const followEveryMs = 1_000;

/** A connection to a service, with the methods of the library's `Codecell`. Sessions stay on the service when it is closed. */
export class RemoteCodecell implements AsyncDisposable {
  readonly #transport: Transport;
  readonly #sessions = new Map<string, RemoteSession>();

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The address of the service. */
  get url(): string {
    return this.#transport.address;
  }

  /** The session with this id: live, saved or new. Without an id, a new one. */
  async session(id?: string): Promise<RemoteSession> {
    if (id !== undefined) sessionPath(id);
    const json = id === undefined ? {} : { session_id: id };
    const request = { method: "POST", path: "/v1/sessions", json, isRepeatable: id !== undefined } as const;
    const info = decodeSessionInfo(await this.#transport.json(request));
    if (id !== undefined && info.id !== id)
      throw new CodecellError("service_unavailable", "the service answered with another session");
    return this.#sessionOf(info.id);
  }

  /** The session with this id, if there is one. */
  async get(id: string): Promise<RemoteSession> {
    await this.info(id);
    return this.#sessionOf(id);
  }

  /** What is known of a session without waking it. */
  async info(id: string): Promise<RemoteSessionInfo> {
    return decodeSessionInfo(await this.#transport.json({ method: "GET", path: sessionPath(id) }));
  }

  /** The live and saved sessions of this token. */
  async list(): Promise<RemoteSessionInfo[]> {
    const reply = await this.#transport.json({ method: "GET", path: "/v1/sessions" });
    return new Fields(reply, "the list of sessions").list("sessions", decodeSessionInfo);
  }

  /** A second session that starts with the variables of another. */
  async fork(id: string, newId?: string): Promise<RemoteSession> {
    return this.#sessionOf(id).fork(newId);
  }

  /** Closes a session; `forget` also removes what was saved. */
  async closeSession(id: string, options: { forget?: boolean } = {}): Promise<void> {
    return this.#sessionOf(id).close(options);
  }

  /** Whether the service is up. Throws if it is not. */
  async health(): Promise<void> {
    const reply = await this.#transport.json({ method: "GET", path: "/v1/health" });
    new Fields(reply, "the answer of /v1/health").oneOf("status", ["ok"]);
  }

  /** Events of the audit of this token's sessions, oldest first. Needs the scope `audit`. */
  async audit(query: AuditQuery = {}): Promise<AuditPage> {
    return this.#audit(query, undefined);
  }

  /**
   * Events of the audit, and new ones within a second, until the loop is left or the signal aborts. Asks for pages: their cursor
   * continues after a lost connection without gaps, and the service's stream has none.
   */
  async *followAudit(query: AuditQuery & { readonly signal?: AbortSignal } = {}): AsyncGenerator<RemoteAuditEvent> {
    const { signal, ...filter } = query;
    using stop = new JoinedSignal(signal, this.#transport.closed);
    let after = filter.after;
    while (!stop.signal.aborted) {
      const page = await this.#audit({ ...filter, ...(after === undefined ? {} : { after }) }, signal);
      yield* page.events;
      after = page.next;
      if (!page.hasMore) await pause(followEveryMs, stop.signal).catch(() => {});
    }
  }

  /** Whether every line of the audit is as it was written. Needs the scope `admin`. */
  async verifyAudit(): Promise<RemoteAuditReport> {
    const report = new Fields(await this.#transport.json({ method: "GET", path: "/v1/audit/verify" }), "the report");
    return {
      isSound: report.flag("sound"),
      chains: report.list("chains", (item, what) => {
        const chain = new Fields(item, what);
        return { chain: chain.text("chain"), lines: chain.count("lines"), head: chain.optional("head", chain.text) };
      }),
      problems: report.list("problems", (item, what) => {
        const problem = new Fields(item, what);
        return { chain: problem.text("chain"), message: problem.text("message") };
      }),
    };
  }

  /** The counters of the service, in Prometheus' text format. Needs the scope `metrics`. */
  metrics(): Promise<string> {
    return this.#transport.text({ method: "GET", path: "/metrics" });
  }

  /** The OpenAPI document of the service. */
  async openApi(): Promise<Readonly<Record<string, unknown>>> {
    const document = await this.#transport.json({ method: "GET", path: "/v1/openapi.json" });
    new Fields(document, "the OpenAPI document").text("openapi");
    return document as Record<string, unknown>;
  }

  /** Downloads the file of a link: `artifact.downloadUrl`, or `session.link()`. The token is not sent. */
  async download(link: string): Promise<FileStream> {
    const url = linkOf(link);
    const { maxResponseBytes, retries, fetch } = this.#transport;
    const anonymous = new Transport({ address: url.origin, token: undefined, fetch, retries, maxResponseBytes });
    const stop = () => anonymous.close();
    if (this.#transport.closed.aborted) stop();
    this.#transport.closed.addEventListener("abort", stop, { once: true });
    const request = { method: "GET", path: url.pathname } as const;
    const file = await openDownload(anonymous, request, { start: 0, end: undefined }, "the file of the link").catch(
      (error: unknown) => {
        this.#transport.closed.removeEventListener("abort", stop);
        throw error;
      },
    );
    return {
      ...file,
      [Symbol.asyncDispose]: async () => {
        this.#transport.closed.removeEventListener("abort", stop);
        await file[Symbol.asyncDispose]();
      },
    };
  }

  /** Ends the connections of this client. Sessions and runs stay on the service. Twice is safe. */
  async close(): Promise<void> {
    this.#transport.close();
    this.#sessions.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #audit(query: AuditQuery, signal: AbortSignal | undefined): Promise<AuditPage> {
    const { types, since, until, session, run, from, after, limit } = query;
    const reply = await this.#transport.json({
      ...{ method: "GET", path: "/v1/audit", signal },
      query: {
        ...{ session, run, from, after, limit, type: types?.join(",") },
        ...{ since: since?.toISOString(), until: until?.toISOString() },
      },
    });
    const page = new Fields(reply, "the page of the audit");
    return {
      events: page.list("entries", (item, what) => {
        const entry = new Fields(item, what);
        entry.text("time");
        entry.text("type");
        return item as RemoteAuditEvent;
      }),
      ...{ next: page.text("next"), hasMore: page.flag("more") },
    };
  }

  /** The same object for the same id, because functions and the queue belong to it. */
  #sessionOf(id: string): RemoteSession {
    const known = this.#sessions.get(id);
    if (known) return known;
    const session: RemoteSession = new RemoteSession(this.#transport, id, {
      sessionOf: (other) => this.#sessionOf(other),
      closed: () => {
        if (this.#sessions.get(id) === session) this.#sessions.delete(id);
      },
    });
    this.#sessions.set(id, session);
    return session;
  }
}

/** The link's address may differ from the client's: it is the public one of the service. */
function linkOf(link: string): URL {
  const url = URL.canParse(link) ? new URL(link) : undefined;
  const isLink = url && /^https?:$/.test(url.protocol) && /\/v1\/download\/[^/]+$/.test(url.pathname);
  if (isLink && url.username === "" && url.password === "") return url;
  throw new CodecellError("usage", "this is not a link to a file of a service", {
    hint: "use `downloadUrl` of an artifact, or `url` of session.link()",
  });
}
