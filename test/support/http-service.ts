import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { auditDirectory } from "../../src/audit/chain/chain-files.ts";
import type { EgressOptions } from "../../src/egress/process/egress-process.ts";
import { Cleanup } from "../../src/lib/cleanup.ts";
import { type Logger, silentLogger } from "../../src/lib/log/logger.ts";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import type { SandboxRunner } from "../../src/runners/runner.ts";
import type { Scope } from "../../src/service/tenants/scope.ts";
import { TokenStore } from "../../src/service/tenants/token-store.ts";
import { errorSchema } from "../../src/service/wire/error.ts";
import { runEventSchema } from "../../src/service/wire/runs/run-event.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import { openAudit } from "../../src/sessions/open-audit.ts";
import type { HttpLimits } from "../../src/surfaces/http/limits.ts";
import { type Listener, listen } from "../../src/surfaces/http/listen.ts";
import { Router } from "../../src/surfaces/http/router.ts";
import { routes } from "../../src/surfaces/http/routes.ts";
import { HttpService } from "../../src/surfaces/http/service.ts";
import { mcpMount } from "../../src/surfaces/mcp/http-handler.ts";
import { newStateDir, removeStateDir } from "./managers.ts";

export interface ServiceSetup {
  readonly runners: readonly SandboxRunner[];
  readonly policy?: PolicyInput;
  readonly limits?: Partial<HttpLimits>;
  readonly openMetrics?: boolean;
  readonly now?: () => number;
  readonly egress?: EgressOptions;
  /** whether an audit is written, as `codecell serve` does */
  readonly audit?: boolean;
  /** whether each tenant has chains of its own, as with `codecell serve` */
  readonly hasTenantChains?: boolean;
  readonly logger?: Logger;
  /** whether the service has the state directory of its sessions too, as `codecell serve` does */
  readonly hasState?: boolean;
  /** names that clients may use, in addition to localhost */
  readonly hostNames?: readonly string[];
}

/** A service on its own port, with a temporary state directory. */
export class TestService implements AsyncDisposable {
  readonly service: HttpService;
  readonly manager: Codecell;
  readonly listener: Listener;
  readonly tokens: TokenStore;
  readonly stateDir: string;
  readonly #cleanup: Cleanup;

  private constructor(
    parts: Pick<TestService, "service" | "manager" | "listener" | "tokens" | "stateDir">,
    cleanup: Cleanup,
  ) {
    this.service = parts.service;
    this.manager = parts.manager;
    this.listener = parts.listener;
    this.tokens = parts.tokens;
    this.stateDir = parts.stateDir;
    this.#cleanup = cleanup;
  }

  static async open(setup: ServiceSetup): Promise<TestService> {
    await using cleanup = new Cleanup();
    const stateDir = await newStateDir();
    cleanup.defer(() => removeStateDir(stateDir));
    const policy = parsePolicy(setup.policy ?? {});
    const manager = await Codecell.open({
      policy,
      runners: setup.runners,
      stateDir,
      runtimeDir: join(stateDir, "rt"),
      ...(setup.egress ? { egress: setup.egress } : {}),
      ...(setup.audit ? { audit: openAudit(policy, { stateDir, hasTenants: setup.hasTenantChains === true }) } : {}),
      isObservable: true,
    });
    cleanup.defer(() => manager[Symbol.asyncDispose]());
    const tokens = await TokenStore.open(join(stateDir, "tokens.json"));
    const service = new HttpService({
      ...{
        codecell: manager,
        tokens,
        linkKey: randomBytes(32),
        logger: setup.logger ?? silentLogger,
        projectDir: stateDir,
      },
      mount: mcpMount({ structured: true, ...(setup.logger ? { logger: setup.logger } : {}) }),
      ...(setup.audit ? { auditDir: auditDirectory(stateDir) } : {}),
      ...(setup.hasState ? { stateDir } : {}),
      ...(setup.limits ? { limits: setup.limits } : {}),
      ...(setup.hostNames ? { hostNames: setup.hostNames } : {}),
      ...(setup.openMetrics ? { openMetrics: true } : {}),
      ...(setup.now ? { now: setup.now } : {}),
    });
    cleanup.defer(() => service[Symbol.asyncDispose]());
    const listener = await listen(service, { host: "127.0.0.1", port: 0 });
    cleanup.defer(() => listener.end());
    return new TestService({ service, manager, listener, tokens, stateDir }, cleanup.move());
  }

  /** A client with its own token. */
  async client(
    name: string,
    options: { scopes?: Scope[]; sessions?: number; expiresMs?: number } = {},
  ): Promise<TestClient> {
    const { scopes = ["run"], sessions = 20, expiresMs } = options;
    const { token } = await this.tokens.create({ name, scopes, sessions, expiresMs }, Date.now());
    return new TestClient(this.listener.url, token);
  }

  anonymous(): TestClient {
    return new TestClient(this.listener.url, undefined);
  }

  /** A raw connection, for requests that no client would send. */
  socket(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.listener.port, "127.0.0.1", () => resolve(socket));
      socket.once("error", reject);
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#cleanup[Symbol.asyncDispose]();
  }
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers whose schemas are tested elsewhere
  readonly json: any;
}

export class TestClient {
  readonly url: string;
  readonly token: string | undefined;

  constructor(url: string, token: string | undefined) {
    this.url = url;
    this.token = token;
  }

  get headers(): Record<string, string> {
    return this.token === undefined ? {} : { authorization: `Bearer ${this.token}` };
  }

  fetch(path: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Response> {
    return fetch(path.startsWith("http") ? path : `${this.url}${path}`, {
      ...init,
      headers: { ...this.headers, ...init.headers },
    });
  }

  /** Sends the body, if any, as JSON, and reads the whole answer. */
  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const type: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
    const response = await this.fetch(path, { method, ...json, headers: { ...type, ...headers } });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json");
    const answer = isJson ? JSON.parse(text) : undefined;
    if (isJson && method !== "HEAD") checkAnswer(method, new URL(response.url).pathname, response.status, answer);
    return { status: response.status, headers: response.headers, text, json: answer };
  }

  async session(id?: string): Promise<string> {
    const { json } = await this.call("POST", "/v1/sessions", id === undefined ? {} : { session_id: id });
    return json.session_id;
  }

  run(session: string, code: string, more: object = {}): Promise<Answer> {
    return this.call("POST", `/v1/sessions/${session}/runs`, { code, ...more });
  }
}

const router = new Router(routes);

/** Checks that an answer has only fields of its schema, and so of docs/wire.md and the OpenAPI document. */
function checkAnswer(method: string, path: string, status: number, answer: unknown): void {
  if (status >= 400 && !path.startsWith("/mcp")) {
    errorSchema.parse(answer);
    return;
  }
  if (!path.startsWith("/v1/")) return;
  const { route } = router.find(method, path);
  const { schema } = route.replies[status] ?? {};
  if (!schema) throw new Error(`${route.id} does not say that it answers ${status} with JSON`);
  schema.parse(answer);
}

/** Yields events until the stream ends. Unless told otherwise, they are those of a run or of the audit. */
export async function* eventsOf(
  response: Response,
  { isOfRun = true } = {},
): AsyncGenerator<{ id: string | undefined; event: string; data: Record<string, unknown> }> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const event = field("event");
      if (event === undefined) continue;
      const data = JSON.parse(field("data") ?? "{}");
      if (isOfRun && event !== "audit") runEventSchema.parse(data);
      yield { id: field("id"), event, data };
    }
  }
}
