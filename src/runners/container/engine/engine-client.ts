import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import type { Socket } from "node:net";
import { pipeline, type Readable } from "node:stream";
import { CodecellError } from "../../../lib/errors.ts";
import type { EngineAddress } from "./engine-address.ts";

/** The API version that both Docker 20.10 and Podman 4 support. */
export const oldestApi = "1.41";
const maxAnswerBytes = 16 * 1024 * 1024;
const defaultTimeoutMs = 30_000;

export interface EngineRequest {
  readonly method?: "GET" | "POST" | "DELETE" | "HEAD" | "PUT";
  /** starts with a slash, without the version */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly json?: unknown;
  readonly body?: Uint8Array;
  /** a body that is too large for memory, such as an image; overrides `body` */
  readonly bodyStream?: Readable;
  readonly bodyType?: string;
  /** limit for the whole answer, so that a daemon that hangs does not block codecell */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** The engine answered with an error. */
export class EngineRefusal extends Error {
  override readonly name = "EngineRefusal";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A client of Docker's Engine API, which Podman also serves. Each request has a timeout and its own connection. */
export class EngineClient {
  readonly address: EngineAddress;
  readonly #version: string;

  /** `version` is the API version of requests. If it is empty, requests name no version. */
  constructor(address: EngineAddress, version: string = oldestApi) {
    this.address = address;
    this.#version = version === "" ? "" : `/v${version}`;
  }

  /** The whole answer as JSON, or undefined if it is empty. */
  async json<Answer = unknown>(request: EngineRequest): Promise<Answer> {
    const text = (await this.bytes(request)).toString();
    try {
      return (text === "" ? undefined : JSON.parse(text)) as Answer;
    } catch (error) {
      throw new CodecellError("runner_unavailable", `${this.address.name} answered with something that is not JSON`, {
        hint: `check that ${this.address.shown} is a container engine`,
        cause: error,
      });
    }
  }

  /** The whole answer. */
  async bytes(request: EngineRequest): Promise<Buffer> {
    return await new Promise<Buffer>((resolve, reject) => {
      const limit = this.#limit(request, (error) => outgoing.destroy(error));
      const fail = (error: Error) => reject(limit.why(error));
      const outgoing = this.#send(request, (answer) => {
        if (isRefusal(answer)) refusal(answer).then(reject, fail);
        else collect(answer).then(resolve, fail);
      });
      outgoing.on("error", fail);
      outgoing.on("close", limit.end);
      sendBody(request, outgoing);
    });
  }

  /** The answer as a stream, for builds and events. The caller closes it. */
  async stream(request: EngineRequest): Promise<IncomingMessage> {
    return await new Promise<IncomingMessage>((resolve, reject) => {
      const limit = this.#limit(request, (error) => outgoing.destroy(error));
      const fail = (error: Error) => {
        limit.end();
        reject(limit.why(error));
      };
      const outgoing = this.#send(request, (answer) => {
        if (isRefusal(answer)) {
          refusal(answer).then(reject, fail).finally(limit.end);
        } else {
          limit.end();
          resolve(answer);
        }
      });
      outgoing.on("error", fail);
      sendBody(request, outgoing);
    });
  }

  /** Upgrades the connection of a request to a raw one, to attach to a container. */
  async hijack(request: EngineRequest): Promise<{ socket: Socket; head: Buffer }> {
    return await new Promise((resolve, reject) => {
      const limit = this.#limit(request, (error) => outgoing.destroy(error));
      const fail = (error: Error) => {
        limit.end();
        reject(limit.why(error));
      };
      const outgoing = this.#send(request, (answer) => {
        refusal(answer).then(reject, fail).finally(limit.end);
      });
      outgoing.setHeader("Connection", "Upgrade");
      outgoing.setHeader("Upgrade", "tcp");
      outgoing.on("upgrade", (_answer, socket: Socket, head) => {
        limit.end();
        resolve({ socket, head });
      });
      outgoing.on("error", fail);
      outgoing.end();
    });
  }

  /** The timeout of one request. It covers the body of an error answer too, because an engine may stall in it. */
  #limit(request: EngineRequest, stop: (error: Error) => void) {
    const limitMs = request.timeoutMs ?? defaultTimeoutMs;
    let tooSlow: Error | undefined;
    const timer = setTimeout(() => {
      tooSlow = this.#tooSlow(request, limitMs);
      stop(tooSlow);
    }, limitMs);
    return {
      end: () => clearTimeout(timer),
      /** why an answer stopped in the middle: a timeout, an abort, or a daemon that crashed */
      why: (error: Error) => this.#unreachable(tooSlow ?? (request.signal?.aborted ? abortError() : error)),
    };
  }

  #send(request: EngineRequest, onAnswer: (answer: IncomingMessage) => void): ClientRequest {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) query.set(name, String(value));
    }
    const search = query.size > 0 ? `?${query}` : "";
    const body = bodyOf(request);
    const options: RequestOptions = {
      ...this.address.connect,
      agent: false,
      method: request.method ?? "GET",
      path: `${this.#version}${request.path}${search}`,
      headers: {
        // Podman rejects a Host header that looks like another machine
        Host: "localhost",
        ...(body ? { "Content-Length": body.byteLength } : {}),
        ...(request.json !== undefined ? { "Content-Type": "application/json" } : {}),
        ...(request.bodyType ? { "Content-Type": request.bodyType } : {}),
      },
      ...(request.signal ? { signal: request.signal } : {}),
    };
    return httpRequest(options, onAnswer);
  }

  #tooSlow(request: EngineRequest, limitMs: number): CodecellError {
    const description = `${request.method ?? "GET"} ${request.path}`;
    return new CodecellError(
      "runner_unavailable",
      `${this.address.name} did not answer ${description} in ${limitMs} ms`,
      {
        hint: `check the daemon behind ${this.address.shown}, or use another runner`,
        details: { isTooSlow: true },
      },
    );
  }

  #unreachable(error: Error): Error {
    if (error instanceof CodecellError) return error;
    if (error.name === "AbortError") {
      return new CodecellError("aborted", `the request to ${this.address.name} was aborted`, { cause: error });
    }
    const isForbidden = "code" in error && error.code === "EACCES";
    return new CodecellError("runner_unavailable", `${this.address.name} cannot be reached: ${error.message}`, {
      hint: isForbidden
        ? `this user may not use ${this.address.shown}: join the group that owns it, or use a rootless engine`
        : `start ${this.address.name}, or set ${this.address.kind === "podman" ? "CONTAINER_HOST" : "DOCKER_HOST"} to where it listens (tried ${this.address.shown})`,
      cause: error,
    });
  }
}

function abortError(): Error {
  return Object.assign(new Error("the request was aborted"), { name: "AbortError" });
}

/** If the source fails, the request is destroyed, so that the engine does not use an incomplete body. */
function sendBody(request: EngineRequest, outgoing: ClientRequest): void {
  if (request.bodyStream) pipeline(request.bodyStream, outgoing, () => {});
  else outgoing.end(bodyOf(request));
}

function bodyOf({ json, body }: EngineRequest): Uint8Array | undefined {
  return json === undefined ? body : Buffer.from(JSON.stringify(json));
}

function isRefusal({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 400;
}

/** Reads the engine's error answer. */
async function refusal(answer: IncomingMessage): Promise<EngineRefusal> {
  return new EngineRefusal(answer.statusCode ?? 0, refusalText(await collect(answer)));
}

async function collect(answer: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of answer as AsyncIterable<Buffer>) {
    size += piece.byteLength;
    if (size > maxAnswerBytes)
      throw new CodecellError("runner_unavailable", "the container engine's answer is too long");
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function refusalText(body: Buffer): string {
  const text = body.toString().trim();
  try {
    const { message, cause } = JSON.parse(text) as { message?: unknown; cause?: unknown };
    return String(message ?? cause ?? text);
  } catch {
    return text.slice(0, 2000);
  }
}
