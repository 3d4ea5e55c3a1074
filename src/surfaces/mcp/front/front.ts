import { PassThrough } from "node:stream";
import type { LazySandbox } from "../../../service/lazy-sandbox.ts";
import type { McpServerOptions } from "../server.ts";
import type { StdioStreams } from "../stdio.ts";
import { readListing } from "./listing.ts";
import { QuickReplies } from "./quick-replies.ts";

/** A longer message is none of those that are answered here. */
const maxLineBytes = 64 * 1024;
/** A client that stays probably calls a tool soon. */
const loadAfterMs = 5_000;

/**
 * Serves MCP over stdio, and loads the MCP SDK with the first message that needs it: many clients start a server only to list its
 * tools, and loading the SDK takes longer than everything else. Until then, the build's listing answers.
 */
export async function serveFront(
  sandbox: LazySandbox,
  options: McpServerOptions = {},
  streams: StdioStreams = { input: process.stdin, output: process.stdout },
): Promise<AsyncDisposable> {
  const { tools = "all", structured = false, hasModel = false } = options;
  const { hasProcesses = sandbox.facts?.hasProcesses ?? true } = options;
  const listing = hasModel ? undefined : await readListing({ tools, structured, hasProcesses });
  if (listing === undefined) return (await import("../stdio.ts")).serveOverStdio(sandbox, options, streams);
  return new Front(new QuickReplies(listing, sandbox, tools), streams, async (rest, onInitialized) => {
    const { serveOverStdio } = await import("../stdio.ts");
    return serveOverStdio(sandbox, options, rest, { onInitialized });
  });
}

/** Opens the SDK's server; with `onInitialized`, its reply to the first message is not sent, and this is called in its place. */
type OpenServer = (streams: StdioStreams, onInitialized: (() => void) | undefined) => Promise<AsyncDisposable>;

/** Reads lines until one of them is for the SDK, which gets that line and everything after it. */
export class Front implements AsyncDisposable {
  readonly #replies: QuickReplies;
  readonly #streams: StdioStreams;
  readonly #openServer: OpenServer;
  readonly #onData = (chunk: Buffer) => this.#receive(chunk);
  #pending: Buffer = Buffer.alloc(0);
  #server: Promise<AsyncDisposable> | undefined;

  constructor(replies: QuickReplies, streams: StdioStreams, openServer: OpenServer) {
    this.#replies = replies;
    this.#streams = streams;
    this.#openServer = openServer;
    streams.input.on("data", this.#onData);
    setTimeout(() => void import("../stdio.ts"), loadAfterMs).unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#streams.input.off("data", this.#onData);
    await (await this.#server)?.[Symbol.asyncDispose]();
  }

  #receive(chunk: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, chunk]);
    for (let end = this.#pending.indexOf(10); end >= 0; end = this.#pending.indexOf(10)) {
      const reply = this.#replies.answer(this.#pending.toString("utf8", 0, end));
      if (reply === undefined) {
        this.#handOver();
        return;
      }
      if (reply !== "") this.#streams.output.write(reply);
      this.#pending = this.#pending.subarray(end + 1);
    }
    if (this.#pending.length > maxLineBytes) this.#handOver();
  }

  /** Gives the SDK the messages that opened the connection, then what nobody has answered, and all that follows. */
  #handOver(): void {
    const { input, output } = this.#streams;
    const [initialize, ...others] = this.#replies.replay;
    const rest = new PassThrough();
    input.off("data", this.#onData);
    input.pause();
    const goOn = () => {
      rest.write(Buffer.concat([Buffer.from(others.join("")), this.#pending]));
      input.pipe(rest);
    };
    this.#server = this.#openServer({ input: rest, output }, initialize === undefined ? undefined : goOn);
    if (initialize === undefined) goOn();
    else rest.write(initialize);
  }
}
