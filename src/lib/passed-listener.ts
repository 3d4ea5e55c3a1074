import type { SendHandle } from "node:child_process";
import { isIPv4 } from "node:net";

/** What Node's own handles of TCP sockets offer; they have no type of their own. */
interface NativeHandle {
  getsockname(address: { address?: string; port?: number }): number;
  close(): void;
}

/**
 * A listening TCP socket that another process made and sent here. It is held and passed on, never accepted on: as long as
 * one process holds it nobody else can listen at its address, and whoever serves it can be replaced.
 */
export class PassedListener implements Disposable {
  readonly address: string;
  readonly port: number;
  #handle: NativeHandle | undefined;

  private constructor(handle: NativeHandle, address: string, port: number) {
    this.#handle = handle;
    this.address = address;
    this.port = port;
  }

  /** The socket that came with a message of a child process; undefined when none did, or something else. */
  static from(received: unknown): PassedListener | undefined {
    if (!isNativeHandle(received)) return undefined;
    const at: { address?: string; port?: number } = {};
    if (received.getsockname(at) === 0 && at.port !== undefined && isIPv4(at.address ?? "")) {
      return new PassedListener(received, at.address as string, at.port);
    }
    received.close();
    return undefined;
  }

  /** What `send` of a child process takes besides its message; undefined when it is closed. */
  get handle(): SendHandle | undefined {
    return this.#handle as unknown as SendHandle | undefined;
  }

  close(): void {
    this.#handle?.close();
    this.#handle = undefined;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

function isNativeHandle(value: unknown): value is NativeHandle {
  return typeof value === "object" && value !== null && "getsockname" in value && "close" in value;
}
