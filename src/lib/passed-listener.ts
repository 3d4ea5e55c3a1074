import type { SendHandle } from "node:child_process";
import { isIPv4 } from "node:net";

/** The methods of Node's internal TCP handles, which have no public type. */
interface NativeHandle {
  getsockname(address: { address?: string; port?: number }): number;
  close(): void;
}

/**
 * A listening TCP socket that another process created and sent here. We hold it and pass it on, but never accept on it. While
 * one process holds it, no other can listen on its address, and the process that serves it can be replaced.
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

  /** The socket that came with a message of a child process; undefined if there was none. */
  static from(received: unknown): PassedListener | undefined {
    if (!isNativeHandle(received)) return undefined;
    const at: { address?: string; port?: number } = {};
    if (received.getsockname(at) === 0 && at.port !== undefined && isIPv4(at.address ?? "")) {
      return new PassedListener(received, at.address as string, at.port);
    }
    received.close();
    return undefined;
  }

  /** The handle to pass to `send` of a child process; undefined if it is closed. */
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
