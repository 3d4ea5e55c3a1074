import { createHash, randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { DeadlinePassed, deadline } from "../../../lib/waiting/deadline.ts";
import type { GatewayPods } from "../gateway/gateway-pods.ts";
import { attachTo } from "./attach.ts";
import { PodLink } from "./pod-link.ts";
import { forwardTo } from "./port-forward.ts";

const connectMs = 20_000;
/** How long a cell lives without its gateway. An API server that restarts is back earlier. */
const patienceSeconds = { gateway: 30, pod: 45 } as const;
/** In the pod's own network, where programs of the cell may be too. */
export const linkPort = 47_319;

/** What a pod's first process needs to know about its channel; undefined: its standard streams. */
export interface LinkSettings {
  readonly port: number;
  /**
   * Hash of a secret that only this gateway has: programs in the cell can read the settings. Absent in pods of a warm pool: the
   * first ticket that is shown to such a pod becomes its own, before any program runs in it.
   */
  readonly ticketHash?: string;
  readonly patienceSeconds: number;
}

/** What pods of a warm pool know about the channel: nothing that is secret or that differs between them. */
export const pooledLink: LinkSettings = { port: linkPort, patienceSeconds: patienceSeconds.pod };

/** The kernel's channel to one pod. ADR 48 compares the ways. */
export interface PodChannel {
  readonly settings: LinkSettings | undefined;
  /** Connects and waits until the pod answers. */
  open(pods: GatewayPods, pod: string, signal?: AbortSignal): Promise<Duplex & { readonly log?: string }>;
}

/** Through the pod's standard streams. The node logs what passes, and a broken connection is the end of the cell. */
export const attachChannel: PodChannel = {
  settings: undefined,
  open: (pods, pod, signal) => attachTo(pods.api, pod, signal),
};

/** Through a port on the pod's loopback interface. Nothing is logged, and a broken connection comes back. */
export function forwardChannel(): PodChannel {
  const ticket = randomBytes(24).toString("hex");
  const settings: LinkSettings = {
    ...pooledLink,
    ticketHash: createHash("sha256").update(ticket).digest("hex"),
  };
  return {
    settings,
    async open(pods, pod, signal) {
      using limit = deadline(connectMs, signal);
      const options = {
        ticket,
        patienceMs: patienceSeconds.gateway * 1000,
        connect: (until: AbortSignal) => forwardTo(pods.api, pod, linkPort, until),
        onResumed: () => pods.logger.info("the connection to a pod broke and came back", { pod }),
      };
      return await firstLink(options, limit.signal).catch((error: unknown) => {
        throw limit.signal.reason instanceof DeadlinePassed ? notAccepted(pods.settings.runtimeClass, error) : error;
      });
    },
  };
}

/** The container runs before its process listens. The kubelet then closes the connection, and nothing tells when to try again. */
async function firstLink(options: Parameters<typeof PodLink.open>[0], signal: AbortSignal): Promise<PodLink> {
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 2, 200)) {
    try {
      return await PodLink.open(options, signal);
    } catch (error) {
      if (signal.aborted || !/closed the connection|no greeting/.test(messageOf(error))) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** It does not listen, or it belongs to another gateway: a pod of a warm pool that somebody connected to earlier. */
function notAccepted(runtimeClass: string | undefined, cause: unknown): CodecellError {
  const message = `the pod did not accept the gateway's connection within ${connectMs / 1000} s`;
  const ownKernel = `set CODECELL_KUBERNETES_CHANNEL=attach if pods of the RuntimeClass ${runtimeClass} are virtual machines: no node reaches their ports`;
  const hint = runtimeClass === undefined ? "try again, and see `kubectl logs` of the pod" : ownKernel;
  return new CodecellError("cell_start_failed", message, { cause, hint });
}
