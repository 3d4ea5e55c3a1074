import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { V1Pod } from "@kubernetes/client-node";
import { ApiError, badRequest } from "../api/api-error.ts";
import { refuseUpgrade } from "../api/api-server.ts";
import type { ObjectStore } from "../api/object-store.ts";
import type { RequestTarget } from "../api/request-target.ts";
import { pods } from "../api/resource-table.ts";
import type { ClusterNodes } from "../node/cluster-nodes.ts";
import { attach, checkAttach } from "./attach.ts";
import { type ChannelSocket, channelServer, type Protocol } from "./channel-socket.ts";
import { exec } from "./exec.ts";
import { forwardedPorts, portForward } from "./port-forward.ts";

/** A stream to a pod that is under way. */
export interface OpenStream {
  readonly kind: string;
  readonly pod: string;
  readonly socket: ChannelSocket;
}

/** Answers `pods/attach`, `pods/exec`, `pods/portforward` and `pods/log`. */
export class PodStreams {
  readonly open = new Set<OpenStream>();
  readonly #store: ObjectStore;
  readonly #nodes: ClusterNodes;
  readonly #accept: ReturnType<typeof channelServer>;
  /** there is no newer protocol for ports */
  readonly #acceptForward = channelServer(["v4.channel.k8s.io"]);

  constructor(store: ObjectStore, nodes: ClusterNodes, protocols: readonly Protocol[]) {
    this.#store = store;
    this.#nodes = nodes;
    this.#accept = channelServer(protocols);
  }

  upgrade(target: RequestTarget, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { pod, container, running, worker } = this.#find(target);
    const { query, subresource: kind = "", name = "" } = target;
    if (kind === "attach") checkAttach(query);
    const ports = kind === "portforward" ? forwardedPorts(query) : [];
    const accept = kind === "portforward" ? this.#acceptForward : this.#accept;
    accept(request, socket, head).then(
      (accepted) => {
        const stream = { kind, pod: name, socket: accepted };
        // behind an unplugged cable, nothing tells the client that the container has ended
        void running.exited.then(() => worker.isLost && accepted.mute());
        this.open.add(stream);
        accepted.onClose(() => this.open.delete(stream));
        if (kind === "attach") attach(accepted, running, { query, stdinOnce: container.stdinOnce === true });
        else if (kind === "exec") exec(accepted, { pod, container, running, query });
        else portForward(accepted, running, ports);
      },
      (error: unknown) => refuseUpgrade(socket, error),
    );
  }

  notUpgraded(target: RequestTarget): ApiError {
    try {
      this.#find(target);
      return badRequest("Upgrade request required");
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
  }

  log({ namespace = "", name = "", query }: RequestTarget, response: ServerResponse): void {
    this.#store.get(pods, namespace, name);
    const worker = this.#nodes.worker(namespace, name);
    const streams = worker?.log;
    if (streams === undefined) throw badRequest(`container in pod "${name}" is waiting to start: ContainerCreating`);
    const tail = Number(query.get("tailLines") ?? Number.NaN);
    const limit = Number(query.get("limitBytes") ?? Number.POSITIVE_INFINITY);
    const text = streams.log();
    const lines = text.toString("latin1").split(/(?<=\n)/);
    const kept = Number.isNaN(tail) ? text : Buffer.from(lines.slice(-tail || lines.length).join(""), "latin1");
    response.writeHead(200, { "content-type": "text/plain" });
    response.write(kept.subarray(0, Math.min(limit, kept.length)));
    if (query.get("follow") !== "true" || worker?.process === undefined) return void response.end();
    const stop = streams.follow((bytes) => response.write(bytes));
    response.once("close", stop);
    void worker.process.exited.then(() => response.end());
  }

  #find({ namespace = "", name = "", query }: RequestTarget) {
    const pod = this.#store.get(pods, namespace, name) as unknown as V1Pod;
    const wanted = query.get("container") ?? pod.spec?.containers[0]?.name;
    const container = pod.spec?.containers.find((one) => one.name === wanted);
    if (container === undefined) throw badRequest(`container ${wanted} is not valid for pod ${name}`);
    if (!pod.spec?.nodeName) throw badRequest(`pod ${name} does not have a host assigned`);
    const worker = this.#nodes.worker(namespace, name);
    if (worker?.isLost)
      throw new ApiError(500, "InternalError", `error dialing backend: dial tcp 10.0.0.1:10250: i/o timeout`);
    const running = worker?.process;
    if (worker === undefined || running === undefined)
      throw new ApiError(
        500,
        "InternalError",
        `unable to upgrade connection: container ${wanted} not found in pod ${name}_${namespace}`,
      );
    return { pod, container, running, worker };
  }
}
