import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import type { Socket } from "node:net";
import { pipeline, type Readable } from "node:stream";
import { CodecellError } from "../../../lib/errors.ts";
import type { EngineAddress } from "./engine-address.ts";

/** Docker 20.10 and Podman 4 both speak it. */
export const oldestApi = "1.41";
const maxAnswerBytes = 16 * 1024 * 1024;
const defaultTimeoutMs = 30_000;

export interface EngineRequest {
  readonly method?: "GET" | "POST" | "DELETE" | "HEAD" | "PUT";
  /** without the version, beginning with a slash */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly json?: unknown;
  readonly body?: Uint8Array;
  /** what is too large for memory, such as an image; wins over `body` */
  readonly bodyStream?: Readable;
  readonly bodyType?: string;
  /** until the whole answer is there; a daemon that hangs must not hang us */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** The engine answered, and said no. */
export class EngineRefusal extends Error {
  override readonly name = "EngineRefusal";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Talks to Docker's Engine API, or to what speaks it. Each request has a deadline and opens its own connection. */
export class EngineClient {
  readonly address: EngineAddress;
  readonly #version: string;

  /** `version` is that of the API which is spoken; empty: none is named, as when an engine is asked which it takes. */
  constructor(address: EngineAddress, version: string = oldestApi) {
    this.address = address;
    this.#version = version === "" ? "" : `/v${version}`;
  }

  /** The whole answer as JSON, or undefined where there is none. */
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

  /** The answer as it comes, for builds and events; ending it is the caller's. */
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

  /** Turns the connection of a request into a raw one, as attaching does. */
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

  /** The time of one request. It holds until the last word of a refusal: an engine may get stuck in the middle of it. */
  #limit(request: EngineRequest, stop: (error: Error) => void) {
    const limitMs = request.timeoutMs ?? defaultTimeoutMs;
    let tooSlow: Error | undefined;
    const timer = setTimeout(() => {
      tooSlow = this.#tooSlow(request, limitMs);
      stop(tooSlow);
    }, limitMs);
    return {
      end: () => clearTimeout(timer),
      /** an answer that stops in the middle: out of time, given up, or the daemon died */
      why: (error: Error) => this.#unreachable(tooSlow ?? (request.signal?.aborted ? givenUp() : error)),
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
        // a name of the daemon's own: Podman refuses a host that looks like another machine
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
    const asked = `${request.method ?? "GET"} ${request.path}`;
    return new CodecellError("runner_unavailable", `${this.address.name} did not answer ${asked} in ${limitMs} ms`, {
      hint: `check the daemon behind ${this.address.shown}, or use another runner`,
      details: { isTooSlow: true },
    });
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
        : `start the engine, or set DOCKER_HOST to where it listens (tried ${this.address.shown})`,
      cause: error,
    });
  }
}

function givenUp(): Error {
  return Object.assign(new Error("given up"), { name: "AbortError" });
}

/** A source that fails destroys the request, so that the engine does not take a part for the whole. */
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

/** Why it said no. */
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
