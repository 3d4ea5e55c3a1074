/** The parts of the `ws` package that the double uses. The package comes with the Kubernetes client and has no types. */
declare module "ws" {
  import type { EventEmitter } from "node:events";
  import type { IncomingMessage } from "node:http";
  import type { Duplex } from "node:stream";

  export class WebSocket extends EventEmitter {
    constructor(
      url: string,
      protocols: readonly string[],
      options: { readonly ca: string | Buffer; readonly headers: Readonly<Record<string, string>> },
    );
    readonly protocol: string;
    readonly bufferedAmount: number;
    readonly readyState: number;
    send(data: Buffer, done?: (error?: Error) => void): void;
    close(code?: number): void;
    terminate(): void;
    pause(): void;
    resume(): void;
  }

  export class WebSocketServer {
    constructor(options: {
      noServer: true;
      perMessageDeflate?: boolean;
      maxPayload?: number;
      handleProtocols?: (offered: Set<string>, request: IncomingMessage) => string | false;
    });
    handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, done: (socket: WebSocket) => void): void;
  }
}
