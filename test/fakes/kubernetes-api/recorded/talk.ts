import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { WebSocket } from "ws";
import type { Act, Conversation } from "./conversations.ts";
import type { Played } from "./play.ts";

/** What matters of a conversation: who said what on which channel, and how it ended. */
export type Talked =
  | { readonly refused: number; readonly message: string }
  | {
      readonly protocol: string;
      /** channels on which the server's first message was empty */
      readonly greeted: readonly number[];
      /** by channel; what only shows that streams are connected is left out */
      readonly heard: Readonly<Record<string, unknown>>;
      /** the code of the server's end, that it dropped the connection, or that it did not end it in time; absent: the client left */
      readonly end?: Ending;
      readonly again?: Talked;
    };

type Ending = number | "dropped" | "none";

const actMs = 20_000;
const knockMs = 200;
const pieceBytes = 64 * 1024;
const statusChannel = 3;
const offered = ["v5.channel.k8s.io", "v4.channel.k8s.io"];

/** Talks with the program of a pod. `pod` is its path at the API server. */
export async function talk(server: Played, pod: string, conversation: Conversation): Promise<Talked> {
  const { url, ca, tokens } = server;
  const { protocols = offered, path, acts } = conversation;
  const address = `${url.replace(/^http/, "ws")}${pod}/${path}`;
  const socket = new WebSocket(address, protocols, { ca, headers: { authorization: `Bearer ${tokens.admin}` } });
  const ear = new Ear(socket);
  const [kind, response] = await Promise.race([
    once(socket, "open").then(() => ["open"] as const),
    once(socket, "unexpected-response").then(([, answer]) => ["refused", answer as IncomingMessage] as const),
  ]);
  if (kind === "refused") return await refusal(response);
  const speaker: Speaker = { socket, ear, again: (next) => talk(server, pod, { ...conversation, acts: next }) };
  let again: Talked | undefined;
  for (const act of acts) again = (await perform(speaker, act)) ?? again;
  const { greeted, heard } = ear.sum();
  socket.terminate();
  const { ended } = ear;
  return {
    ...{ protocol: socket.protocol, greeted, heard },
    ...(ended === undefined ? {} : { end: ended }),
    ...(again === undefined ? {} : { again }),
  };
}

interface Speaker {
  readonly socket: WebSocket;
  readonly ear: Ear;
  readonly again: (acts: readonly Act[]) => Promise<Talked>;
}

async function perform({ socket, ear, again }: Speaker, act: Act): Promise<Talked | undefined> {
  switch (act.do) {
    case "send":
      socket.send(message(act.channel, Buffer.from(act.text, "latin1")));
      return;
    case "send-bulk":
      for (let left = act.bytes; left > 0; left -= pieceBytes) {
        socket.send(message(act.channel, Buffer.alloc(Math.min(left, pieceBytes), "b")));
      }
      return;
    case "await":
      return await ear.until(`"${act.text.slice(0, 40)}" on channel ${act.channel}`, () =>
        ear.text(act.channel).includes(act.text),
      );
    case "settle": {
      const knock = setInterval(() => socket.send(message(0, Buffer.from("here\n"))), knockMs);
      const isHere = (channel: number) => ear.text(channel).includes("here");
      return await ear.until("both outputs", () => isHere(1) && isHere(2)).finally(() => clearInterval(knock));
    }
    case "leave":
      ear.forgetEnd();
      socket.close(1000);
      return;
    case "again":
      return await again(act.acts);
    case "await-end":
      if (act.withinMs === undefined) return await ear.until("the server's end", () => ear.ended !== undefined);
      await Promise.race([ear.closed, pause(act.withinMs)]);
      ear.ended ??= "none";
      return;
  }
}

/** Collects what the server says. */
class Ear {
  ended: Ending | undefined;
  readonly closed: Promise<void>;
  readonly #texts = new Map<number, string[]>();
  readonly #greeted = new Set<number>();
  readonly #checks = new Set<() => void>();
  #isLeaving = false;

  constructor(socket: WebSocket) {
    socket.on("message", (data: Buffer) => {
      const channel = data[0] as number;
      const pieces = this.#texts.get(channel) ?? [];
      if (data.length === 1 && pieces.length === 0) this.#greeted.add(channel);
      this.#texts.set(channel, [...pieces, data.subarray(1).toString("latin1")]);
      for (const check of this.#checks) check();
    });
    socket.on("error", () => {}); // `close` follows
    this.closed = new Promise((resolve) => {
      socket.on("close", (code: number) => {
        if (!this.#isLeaving) this.ended ??= code === 1006 ? "dropped" : code;
        for (const check of this.#checks) check();
        resolve();
      });
    });
  }

  text(channel: number): string {
    const pieces = this.#texts.get(channel) ?? [];
    if (pieces.length > 1) this.#texts.set(channel, [pieces.join("")]);
    return this.#texts.get(channel)?.[0] ?? "";
  }

  forgetEnd(): void {
    this.#isLeaving = true;
  }

  /** Waits for something that a message or the end brings. */
  async until(what: string, holds: () => boolean): Promise<undefined> {
    if (holds()) return;
    let check = () => {};
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve, reject) => {
      check = () => holds() && resolve();
      this.#checks.add(check);
      const late = () =>
        reject(
          new Error(`${what} did not come within ${actMs / 1000} s: ${JSON.stringify(this.sum()).slice(0, 1000)}`),
        );
      timer = setTimeout(late, actMs);
    }).finally(() => {
      clearTimeout(timer);
      this.#checks.delete(check);
    });
  }

  sum(): { readonly greeted: readonly number[]; readonly heard: Readonly<Record<string, unknown>> } {
    const channels = [...this.#texts.keys()].sort((a, b) => a - b);
    const heard = channels.map((channel) => [channel, shown(channel, this.text(channel))] as const);
    return {
      greeted: [...this.#greeted].sort((a, b) => a - b),
      heard: Object.fromEntries(heard.filter(([, text]) => text !== "")),
    };
  }
}

function message(channel: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.of(channel), bytes]);
}

/** Without answers to knocks, whose number differs, and without what names a pod or a node. */
function shown(channel: number, text: string): unknown {
  const rest = text.replaceAll(/^here\n/gm, "");
  if (rest.length > 10_000) return `${rest.length} characters, all b: ${/^..b+$/s.test(rest)}`;
  if (channel === statusChannel && rest.startsWith("{")) return JSON.parse(rest) as unknown;
  return masked(rest);
}

function masked(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{64}/g, "CONTAINER")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UID")
    .replaceAll(/\/[\w/.-]*netns\/[\w.-]+/g, "NETNS");
}

async function refusal(response: IncomingMessage): Promise<Talked> {
  const text = (await response.toArray()).join("");
  let said = text;
  try {
    said = String((JSON.parse(text) as { message?: unknown }).message);
  } catch {
    // plain text
  }
  return { refused: response.statusCode ?? 0, message: masked(said.trim()) };
}
