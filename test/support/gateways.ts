import { join } from "node:path";
import { Cleanup } from "../../src/lib/cleanup.ts";
import { type Logger, silentLogger } from "../../src/lib/log/logger.ts";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { SandboxRunner } from "../../src/runners/runner.ts";
import { Gateways } from "../../src/service/gateways/gateways.ts";
import type { Scope } from "../../src/service/tenants/scope.ts";
import { TokenStore } from "../../src/service/tenants/token-store.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import type { GatewayDirectory } from "../../src/store/gateway-directory.ts";
import { GatewayOwners } from "../../src/store/postgres/gateway-owners.ts";
import { openDatabase } from "../../src/store/postgres/open-database.ts";
import { PostgresDirectory } from "../../src/store/postgres/postgres-directory.ts";
import { listenForSessions } from "../../src/store/postgres/session-news.ts";
import type { HttpLimits } from "../../src/surfaces/http/limits.ts";
import { type Listener, listen } from "../../src/surfaces/http/listen.ts";
import { HttpService } from "../../src/surfaces/http/service.ts";
import { mcpMount } from "../../src/surfaces/mcp/http-handler.ts";
import { TestClient } from "./http-service.ts";
import { newStateDir, removeStateDir } from "./managers.ts";

export interface GatewaySetup {
  /** of the database that they share */
  readonly url: string;
  readonly policy?: PolicyInput;
  readonly leaseMs?: number;
  readonly logger?: Logger;
  readonly runners?: () => readonly SandboxRunner[];
  readonly limits?: Partial<HttpLimits>;
  /** how peers reach a gateway; default: its address */
  readonly peerUrl?: (listener: Listener) => string;
}

/** Gateways of one database, in this process. Each has a state directory of its own, as on a machine of its own. */
export class TestGateways implements AsyncDisposable {
  readonly #setup: GatewaySetup;
  readonly #tokensFile: string;
  readonly #cleanup: Cleanup;

  private constructor(setup: GatewaySetup, tokensFile: string, cleanup: Cleanup) {
    this.#setup = setup;
    this.#tokensFile = tokensFile;
    this.#cleanup = cleanup;
  }

  static async open(setup: GatewaySetup): Promise<TestGateways> {
    await using cleanup = new Cleanup();
    const directory = await newStateDir();
    cleanup.defer(() => removeStateDir(directory));
    return new TestGateways(setup, join(directory, "tokens.json"), cleanup.move());
  }

  async start(setup: Partial<GatewaySetup> = {}): Promise<TestGateway> {
    const gateway = await TestGateway.open({ ...this.#setup, ...setup }, this.#tokensFile);
    this.#cleanup.defer(() => gateway[Symbol.asyncDispose]());
    return gateway;
  }

  /** A token that all of them accept. */
  async token(name: string, options: { scopes?: Scope[]; sessions?: number } = {}): Promise<string> {
    const { scopes = ["run"], sessions = 20 } = options;
    const tokens = await TokenStore.open(this.#tokensFile);
    return (await tokens.create({ name, scopes, sessions, expiresMs: undefined }, Date.now())).token;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#cleanup[Symbol.asyncDispose]();
  }
}

export class TestGateway implements AsyncDisposable {
  readonly service: HttpService;
  readonly codecell: Codecell;
  readonly gateways: Gateways;
  readonly listener: Listener;
  readonly #link: { isCut: boolean };
  readonly #cleanup: Cleanup;

  private constructor(
    parts: Pick<TestGateway, "service" | "codecell" | "gateways" | "listener">,
    link: { isCut: boolean },
    cleanup: Cleanup,
  ) {
    this.service = parts.service;
    this.codecell = parts.codecell;
    this.gateways = parts.gateways;
    this.listener = parts.listener;
    this.#link = link;
    this.#cleanup = cleanup;
  }

  static async open(setup: GatewaySetup, tokensFile: string): Promise<TestGateway> {
    await using cleanup = new Cleanup();
    const { url, leaseMs = 15_000, logger = silentLogger } = setup;
    const stateDir = await newStateDir();
    cleanup.defer(() => removeStateDir(stateDir));
    const database = await openDatabase(url);
    cleanup.defer(() => database[Symbol.asyncDispose]());
    const link = { isCut: false };
    const directory = cuttable(new PostgresDirectory(database), link);
    const gateways = new Gateways({ directory, leaseMs, logger });
    cleanup.defer(() => gateways[Symbol.asyncDispose]());
    const codecell = await Codecell.open({
      ...{ policy: parsePolicy(setup.policy ?? {}), stateDir, runtimeDir: join(stateDir, "rt"), logger },
      openedDatabase: database,
      runners: setup.runners?.() ?? [processRunner({ layout: "template" })],
      owners: new GatewayOwners(database, gateways.lease),
      isObservable: true,
    });
    cleanup.defer(() => codecell[Symbol.asyncDispose]());
    const linkKey = await directory.sharedKey("links");
    const tokens = await TokenStore.open(tokensFile);
    const service = new HttpService({
      ...{ codecell, tokens, linkKey, logger, gateways, stateDir, limits: setup.limits ?? {} },
      mount: mcpMount({ structured: true }),
    });
    cleanup.defer(() => service[Symbol.asyncDispose]());
    const news = await listenForSessions(database, {
      onChanged: (key, gateway) => service.sessionMoved({ key, gateway }),
      onMissed: () => service.sessionMoved(),
      logger,
    });
    cleanup.defer(() => news[Symbol.asyncDispose]());
    const listener = await listen(service, { host: "127.0.0.1", port: 0 });
    cleanup.defer(() => listener.end());
    await gateways.join(setup.peerUrl?.(listener) ?? listener.url, codecell);
    return new TestGateway({ service, codecell, gateways, listener }, link, cleanup.move());
  }

  get id(): string {
    return this.gateways.lease.id;
  }

  client(token: string | undefined): TestClient {
    return new TestClient(this.listener.url, token);
  }

  /** Cuts it off from the directory, or connects it again. */
  set isCutOff(isCut: boolean) {
    this.#link.isCut = isCut;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#cleanup[Symbol.asyncDispose]();
  }
}

function cuttable(directory: GatewayDirectory, link: { readonly isCut: boolean }): GatewayDirectory {
  return new Proxy(directory, {
    get: (target, name) => {
      const method = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>;
      return async (...args: unknown[]) => {
        if (link.isCut) throw new Error("the database cannot be reached");
        return method.apply(target, args);
      };
    },
  });
}
