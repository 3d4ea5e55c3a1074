import type { IncomingMessage, ServerResponse } from "node:http";
import { Cleanup } from "../../lib/cleanup.ts";
import type { Logger } from "../../lib/log/logger.ts";
import type { LazySandbox } from "../../service/lazy-sandbox.ts";
import { OpenRequests } from "../../service/tenants/open-requests.ts";
import { TokenStore } from "../../service/tenants/token-store.ts";
import { HttpError } from "./answers/error-status.ts";
import { Gate, type Mount, type TokenHolder } from "./gate.ts";
import { defaultLimits, type HttpLimits } from "./limits.ts";
import type { Listening } from "./listen.ts";

/** Options of a `MountServer`. */
export interface MountServerOptions {
  /** for the mounted protocol; the caller disposes it */
  readonly sandbox: LazySandbox;
  readonly mount: Mount;
  /** the one token; at least 16 characters without spaces */
  readonly token: string;
  readonly limits?: Partial<HttpLimits>;
  /** host names that clients may use, in addition to localhost */
  readonly hostNames?: readonly string[];
  readonly logger?: Logger;
}

/** One mounted protocol for one user, without the HTTP API, behind the same gate as `HttpService`. */
export class MountServer implements Listening, AsyncDisposable {
  readonly #gate: Gate<TokenHolder>;
  readonly #cleanup = new Cleanup();

  constructor({ sandbox, mount, token, limits, hostNames, logger }: MountServerOptions) {
    const user: TokenHolder = {
      requests: new OpenRequests(),
      lazySandbox: sandbox,
      own: (resource) => this.#cleanup.defer(() => resource[Symbol.asyncDispose]()),
    };
    const { requests } = { ...defaultLimits, ...limits };
    this.#gate = new Gate({
      ...{ mount, hostNames, logger, now: Date.now },
      // the single user may use the whole limit
      limits: { ...limits, requestsPerToken: requests },
      tokens: TokenStore.single(token),
      holders: { of: () => user, keepOnly() {} },
      dispatch: async ({ request }) => {
        await this.#gate.caller(request);
        throw new HttpError("not_found", "there is nothing at this path", {
          hint: `this server only has ${mount.path}`,
        });
      },
    });
  }

  get limits(): HttpLimits {
    return this.#gate.limits;
  }

  /** Handles one request. Never throws. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    this.#gate.handle(request, response);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#gate[Symbol.dispose]();
    await this.#cleanup[Symbol.asyncDispose]();
  }
}
