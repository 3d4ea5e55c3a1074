import type { IncomingMessage } from "node:http";
import type { MemoryLease } from "../../../service/body-memory.ts";
import type { Tenant } from "../../../service/tenants/tenant.ts";
import type { Reply } from "../route.ts";
import type { HttpService } from "../service.ts";
import { HttpError } from "./error-status.ts";

type Sent = Extract<Reply, { send: unknown }>;

/** A request with a link, as long as it is open. */
export interface OpenLink extends Disposable {
  /** who made the link */
  readonly tenant: Tenant;
  /** memory for a large response */
  readonly memory: MemoryLease;
}

/**
 * Counts a request that has a link instead of a token. The attack: readers of a link that take nothing are requests of nobody, so
 * they fill the service and keep everybody out. They count for the tenant of the link, and end with its token.
 */
export async function openLink(service: HttpService, namespace: string, request: IncomingMessage): Promise<OpenLink> {
  const tenant = await service.tenantOf(namespace);
  // the same response as for a forged link
  if (!tenant) throw new HttpError("not_found", "there is nothing at this path");
  const { requestsPerToken } = service.limits;
  if (tenant.linked.size >= requestsPerToken) {
    throw new HttpError("busy", `${requestsPerToken} links of this token are open, which is the limit`, {
      status: 429,
      hint: "try again",
    });
  }
  const open = tenant.linked.enter("", () => request.socket.destroy());
  const memory = service.responseMemory(tenant);
  return {
    tenant,
    memory,
    [Symbol.dispose]() {
      memory[Symbol.dispose]();
      open[Symbol.dispose]();
    },
  };
}

/** Answers a request that has a link instead of a token. */
export async function linkedReply(
  service: HttpService,
  namespace: string,
  request: IncomingMessage,
  answer: (link: OpenLink) => Promise<Sent>,
): Promise<Sent> {
  const link = await openLink(service, namespace, request);
  try {
    const { send } = await answer(link);
    return {
      async send(response, signal) {
        using _open = link;
        await send(response, signal);
      },
    };
  } catch (error) {
    link[Symbol.dispose]();
    throw error;
  }
}
