import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type BuiltWheel, buildWheel, type WheelSpec } from "./packages/wheel.ts";

/** A file of the index, with what the index says about it. */
export interface ServedFile {
  readonly fileName: string;
  readonly content: Buffer;
  /** offered beside the file (PEP 658) */
  readonly metadata?: string;
  /** what the page claims; false: no hash at all */
  readonly sha256?: string | false;
  readonly requiresPython?: string;
  readonly yanked?: boolean | string;
  readonly uploadTime?: string;
  /** another address than the index's own */
  readonly url?: string;
}

/** How a test's wheel is offered. */
export type OfferedWheel = WheelSpec &
  Partial<Omit<ServedFile, "fileName" | "content" | "metadata">> & {
    /** PEP 658 */
    readonly offersMetadata?: boolean;
  };

export interface PackageIndexOptions {
  readonly format?: "json" | "html";
  /** `user:password` that every request must carry */
  readonly credentials?: string;
  /** another 127.x.y.z address */
  readonly host?: string;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

/** A package index on loopback, with wheels that the test builds. Disposing ends every connection. */
export class PackageIndex implements AsyncDisposable {
  /** paths in the order of the requests */
  readonly requests: string[] = [];
  /** what each request carried, in the same order */
  readonly authorizations: (string | undefined)[] = [];
  readonly #packages = new Map<string, ServedFile[]>();
  readonly #answers = new Map<string, Answer>();
  readonly #sockets = new Set<Socket>();
  readonly #options: PackageIndexOptions;
  readonly #server: Server;
  #origin = "";

  private constructor(options: PackageIndexOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => this.#answer(request, response));
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  static async start(options: PackageIndexOptions = {}): Promise<PackageIndex> {
    const index = new PackageIndex(options);
    index.#server.listen(0, options.host ?? "127.0.0.1");
    await once(index.#server, "listening");
    const { address, port } = index.#server.address() as AddressInfo;
    index.#origin = `http://${address}:${port}`;
    return index;
  }

  get origin(): string {
    return this.#origin;
  }

  /** The address for `kernel.packages.index`, with the credentials. */
  get url(): string {
    const { credentials } = this.#options;
    return `${credentials === undefined ? this.#origin : this.#origin.replace("//", `//${credentials}@`)}/simple/`;
  }

  /** Adds a wheel, and returns its sha256. */
  add({ offersMetadata, ...spec }: OfferedWheel): string {
    const built: BuiltWheel = buildWheel(spec);
    const { sha256, requiresPython, yanked, uploadTime, url } = spec;
    this.addFile(spec.name, {
      ...{ fileName: built.fileName, content: built.content },
      ...(offersMetadata ? { metadata: built.metadata } : {}),
      ...(sha256 === undefined ? {} : { sha256 }),
      ...(requiresPython === undefined ? {} : { requiresPython }),
      ...(yanked === undefined ? {} : { yanked }),
      ...(uploadTime === undefined ? {} : { uploadTime }),
      ...(url === undefined ? {} : { url }),
    });
    return sha256Of(built.content);
  }

  addFile(name: string, file: ServedFile): void {
    const key = normal(name);
    this.#packages.set(key, [...(this.#packages.get(key) ?? []), file]);
  }

  /** A package that is known, but has no files. */
  addEmpty(name: string): void {
    this.#packages.set(normal(name), []);
  }

  /** Answers one path in a way of the test's own. */
  on(path: string, answer: Answer): void {
    this.#answers.set(path, answer);
  }

  /** Forgets the requests so far. */
  forget(): void {
    this.requests.length = 0;
    this.authorizations.length = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((closed) => this.#server.close(closed));
  }

  #answer(request: IncomingMessage, response: ServerResponse): unknown {
    const path = request.url ?? "";
    this.requests.push(path);
    this.authorizations.push(request.headers.authorization);
    const { credentials } = this.#options;
    if (credentials !== undefined && request.headers.authorization !== `Basic ${btoa(credentials)}`)
      return send(response, 401, "text/plain", "who are you?");
    const own = this.#answers.get(path);
    if (own) return own(request, response);
    const [, area, name = "", file] = path.split("/").map(decodeURIComponent);
    const files = this.#packages.get(name);
    if (area === "simple" && file === "" && files) return this.#page(response, name, files);
    const served = files?.find(({ fileName }) => file === fileName || file === `${fileName}.metadata`);
    if (area !== "files" || !served) return send(response, 404, "text/plain", "not here");
    if (file === served.fileName) return send(response, 200, "application/octet-stream", served.content);
    if (served.metadata === undefined) return send(response, 404, "text/plain", "not here");
    return send(response, 200, "text/plain", served.metadata);
  }

  #page(response: ServerResponse, name: string, files: readonly ServedFile[]): unknown {
    const listed = files.map((file) => ({
      ...file,
      href: file.url ?? `/files/${name}/${encodeURIComponent(file.fileName)}`,
    }));
    if (this.#options.format === "html")
      return send(
        response,
        200,
        "text/html; charset=utf-8",
        `<!DOCTYPE html><html><body>${listed.map(anchor).join("<br>\n")}</body></html>`,
      );
    const page = { meta: { "api-version": "1.1" }, name, files: listed.map(jsonFile) };
    return send(response, 200, "application/vnd.pypi.simple.v1+json", JSON.stringify(page));
  }
}

/** Sends a whole answer. */
export function send(response: ServerResponse, status: number, type: string, body: string | Buffer): ServerResponse {
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body) });
  return response.end(body);
}

type ListedFile = ServedFile & { readonly href: string };

function jsonFile(file: ListedFile) {
  const sha256 = claimedHash(file);
  return {
    filename: file.fileName,
    url: file.href,
    hashes: sha256 === undefined ? {} : { sha256 },
    yanked: file.yanked ?? false,
    ...(file.requiresPython === undefined ? {} : { "requires-python": file.requiresPython }),
    ...(file.uploadTime === undefined ? {} : { "upload-time": file.uploadTime }),
    ...(file.metadata === undefined ? {} : { "core-metadata": { sha256: sha256Of(file.metadata) } }),
  };
}

function anchor(file: ListedFile): string {
  const sha256 = claimedHash(file);
  const attributes = [
    `href="${escaped(file.href + (sha256 === undefined ? "" : `#sha256=${sha256}`))}"`,
    ...(file.requiresPython === undefined ? [] : [`data-requires-python="${escaped(file.requiresPython)}"`]),
    ...(file.yanked ? [`data-yanked="${escaped(String(file.yanked))}"`] : []),
    ...(file.metadata === undefined ? [] : [`data-core-metadata="sha256=${sha256Of(file.metadata)}"`]),
  ];
  return `<a ${attributes.join(" ")}>${escaped(file.fileName)}</a>`;
}

function claimedHash({ sha256, content }: ServedFile): string | undefined {
  return sha256 === false ? undefined : (sha256 ?? sha256Of(content));
}

function sha256Of(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

function normal(name: string): string {
  return name.replace(/[-_.]+/g, "-").toLowerCase();
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
