import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { importPeer } from "../../../lib/import-peer.ts";
import { hasCredentials, isInCluster, type KubernetesSettings, serviceAccount } from "../settings.ts";

type KubeConfig = import("@kubernetes/client-node").KubeConfig;
type Client = typeof import("@kubernetes/client-node");

/** What every request needs: where the API server is, and as whom. */
export interface ClusterConnection extends Disposable {
  readonly server: URL;
  readonly namespace: string;
  /** options of a request now: tokens are renewed while a gateway runs */
  options(): Promise<https.RequestOptions>;
  /** Opens a web socket with one of the protocols of the API. Each message begins with the number of its stream. */
  socket(path: string, onMessage: OnMessage, limits: SocketLimits): Promise<ClusterSocket>;
}

export type OnMessage = (stream: number, data: Buffer) => void;

export interface SocketLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** The part of a web socket that is used here. The client returns one of `ws`, with more methods than its types have. */
export interface ClusterSocket {
  readonly protocol: string;
  readonly bufferedAmount: number;
  readonly readyState: number;
  send(data: Uint8Array, callback: (error?: Error) => void): void;
  ping(): void;
  pause(): void;
  resume(): void;
  close(code?: number): void;
  terminate(): void;
  on(event: "close", listener: (code: number, reason: Buffer) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** Frames of a cell have a limit of their own; a server that sends more is not one of Kubernetes. */
const largestMessageBytes = 64 * 1024 * 1024;

/** Loads the client and the credentials. Nothing is sent yet. */
export async function openConnection(settings: KubernetesSettings): Promise<ClusterConnection> {
  if (settings.kubeconfig === undefined && !hasCredentials()) {
    throw new CodecellError("runner_unavailable", "no Kubernetes cluster is configured", {
      hint: "set KUBECONFIG, create ~/.kube/config, or run codecell in a pod with a service account",
    });
  }
  const client = await loadClient();
  const config = loadConfig(client, settings);
  const cluster = config.getCurrentCluster();
  if (!cluster) {
    throw new CodecellError("runner_unavailable", "the kubeconfig has no current context with a cluster", {
      hint: "choose one: `kubectl config use-context NAME`, or set CODECELL_KUBERNETES_CONTEXT",
    });
  }
  const namespace = settings.namespace ?? defaultNamespace(config);
  return new KubeConnection(client, config, new URL(cluster.server), namespace, cluster.proxyUrl !== undefined);
}

async function loadClient(): Promise<Client> {
  try {
    return await importPeer<Client>("@kubernetes/client-node");
  } catch (error) {
    throw new CodecellError("runner_unavailable", "the Kubernetes client is not installed", {
      hint: "install it: `npm install @kubernetes/client-node@1.4.0`",
      cause: error,
    });
  }
}

function loadConfig(client: Client, { context, kubeconfig }: KubernetesSettings): KubeConfig {
  const config = new client.KubeConfig();
  try {
    if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (error) {
    throw new CodecellError("runner_unavailable", `the kubeconfig cannot be read: ${messageOf(error)}`, {
      hint: "check the file that KUBECONFIG names, or ~/.kube/config",
      cause: error,
    });
  }
  if (context === undefined) return config;
  if (!config.getContextObject(context)) {
    const names = config.getContexts().map(({ name }) => name);
    throw new CodecellError("runner_unavailable", `the kubeconfig has no context ${context}`, {
      hint: `set CODECELL_KUBERNETES_CONTEXT to one of: ${names.join(", ")}`,
    });
  }
  config.setCurrentContext(context);
  return config;
}

function defaultNamespace(config: KubeConfig): string {
  const own = config.getContextObject(config.getCurrentContext())?.namespace;
  if (own) return own;
  if (!isInCluster()) return "default";
  return readFileSync(`${serviceAccount}/namespace`, "utf8").trim();
}

class KubeConnection implements ClusterConnection {
  readonly server: URL;
  readonly namespace: string;
  readonly #client: Client;
  readonly #config: KubeConfig;
  readonly #usesProxy: boolean;
  /** the client makes an agent for each request, so each would pay for a TLS handshake */
  #agent: { readonly key: string; readonly agent: http.Agent } | undefined;

  constructor(client: Client, config: KubeConfig, server: URL, namespace: string, usesProxy: boolean) {
    this.#client = client;
    this.#config = config;
    this.server = server;
    this.namespace = namespace;
    this.#usesProxy = usesProxy;
  }

  async options(): Promise<https.RequestOptions> {
    const options: https.RequestOptions = {};
    try {
      await this.#config.applyToHTTPSOptions(options);
    } catch (error) {
      throw new CodecellError("runner_unavailable", `no credentials for the cluster: ${messageOf(error)}`, {
        hint: "check `kubectl auth can-i create pods` with the same kubeconfig",
        cause: error,
      });
    }
    return this.#usesProxy ? options : { ...options, agent: this.#agentFor(options) };
  }

  #agentFor({ ca, cert, key, servername, rejectUnauthorized }: https.RequestOptions): http.Agent {
    const name = createHash("sha256")
      .update(JSON.stringify([String(ca), String(cert), String(key), servername, rejectUnauthorized]))
      .digest("hex");
    if (this.#agent?.key !== name) {
      this.#agent?.agent.destroy();
      const tls = Object.entries({ ca, cert, key, servername, rejectUnauthorized }).filter(
        ([, value]) => value !== undefined,
      );
      const own = { keepAlive: true, keepAliveMsecs: 15_000 };
      const agent =
        this.server.protocol === "http:"
          ? new http.Agent(own)
          : new https.Agent({ ...own, ...Object.fromEntries(tls) });
      this.#agent = { key: name, agent };
    }
    return this.#agent.agent;
  }

  async socket(path: string, onMessage: OnMessage, { timeoutMs, signal }: SocketLimits): Promise<ClusterSocket> {
    const config = this.#config;
    // The handler takes its options from here: the only way to give a handshake a time limit.
    const limited = {
      getCurrentCluster: () => config.getCurrentCluster(),
      applyToHTTPSOptions: async (options: Record<string, unknown>) => {
        await config.applyToHTTPSOptions(options as never);
        Object.assign(options, {
          handshakeTimeout: timeoutMs,
          perMessageDeflate: false,
          maxPayload: largestMessageBytes,
        });
        if (signal) Object.assign(options, { signal });
      },
    };
    // Without streams of its own, the handler would end this process's standard streams when the server closes one (v5).
    const nowhere = { stdin: { pause() {} }, stdout: { end() {} }, stderr: { end() {} } };
    const { handler } = new this.#client.Attach(limited as never);
    Object.assign(handler, { streams: nowhere });
    const socket = await handler.connect(path, null, (stream, data) => {
      onMessage(stream, data);
      return true;
    });
    return socket as unknown as ClusterSocket;
  }

  [Symbol.dispose](): void {
    this.#agent?.agent.destroy();
  }
}
