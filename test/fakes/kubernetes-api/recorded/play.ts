import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { createInterface } from "node:readline";
import { type Normalised, normalise } from "./normalise.ts";
import type { Step } from "./steps.ts";

/** An API server to ask. */
export interface Played {
  readonly url: string;
  readonly ca: string | Buffer;
  readonly tokens: Readonly<Record<"admin" | "limited", string>>;
}

export interface PlayedStep {
  readonly title: string;
  readonly answer: Normalised;
  readonly events?: readonly Normalised[];
}

/** Plays requests one after the other and returns what matters of the answers. */
export async function play(server: Played, steps: readonly Step[]): Promise<readonly PlayedStep[]> {
  return await new Player(server).play(steps);
}

class Player {
  readonly #server: Played;
  /** the last answer about each name */
  readonly #last = new Map<string, Record<string, unknown>>();
  #continue = "";

  constructor(server: Played) {
    this.#server = server;
  }

  async play(steps: readonly Step[]): Promise<readonly PlayedStep[]> {
    const played: PlayedStep[] = [];
    for (const step of steps) played.push(...(await this.#step(step)));
    return played;
  }

  async #step(step: Step): Promise<readonly PlayedStep[]> {
    const response = await this.#send(step);
    const code = response.statusCode ?? 0;
    if (step.watch === undefined || code !== 200) {
      const text = (await response.toArray()).join("");
      return [{ title: step.title, answer: this.#note(code, text) }];
    }
    const lines = createInterface(response);
    const events: Normalised[] = [];
    const seen = new Promise<void>((resolve) => {
      lines.on("line", (line) => {
        const { type, object } = JSON.parse(line) as { type: string; object: Record<string, unknown> };
        events.push({ type, ...normalise(code, object, undefined) });
        if (events.length === step.watch?.events) resolve();
      });
      response.once("close", resolve);
    });
    const meanwhile = await this.play(step.watch.meanwhile);
    await seen;
    response.destroy();
    return [...meanwhile, { title: step.title, answer: { code }, events }];
  }

  /** Remembers an object for later steps. */
  #note(code: number, text: string): Normalised {
    const body = parsed(text);
    if (typeof body === "string") return { code, text: body };
    const metadata = body.metadata as Record<string, unknown> | undefined;
    const name = String(metadata?.name ?? "");
    const before = this.#last.get(name);
    if (body.kind !== "Status" && name !== "") this.#last.set(name, body);
    if (typeof metadata?.continue === "string") this.#continue = metadata.continue;
    return normalise(code, body, before);
  }

  async #send({ method, path, body, as, type = "application/json" }: Step): Promise<IncomingMessage> {
    const { url, ca, tokens } = this.#server;
    const token = as === "nobody" ? "wrong" : tokens[as ?? "admin"];
    const made = typeof body === "function" ? body((name: string) => this.#last.get(name) ?? {}) : body;
    const text = made === undefined ? "" : this.#filled(typeof made === "string" ? made : JSON.stringify(made));
    // Node sends no length with DELETE, and the server would take no body
    const length = String(Buffer.byteLength(text));
    const headers = { authorization: `Bearer ${token}`, "content-type": type, "content-length": length };
    const sent = request(`${url}${this.#filled(path)}`, { method, ca, headers, agent: false });
    sent.end(text);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    return response;
  }

  #filled(text: string): string {
    const metadata = (name: string) => (this.#last.get(name)?.metadata ?? {}) as Record<string, string>;
    return text
      .replaceAll(/\{uid:([a-z]+)\}/g, (_, name: string) => metadata(name).uid ?? "")
      .replaceAll(/\{version:([a-z]+)\}/g, (_, name: string) => metadata(name).resourceVersion ?? "")
      .replaceAll("{continue}", this.#continue);
  }
}

function parsed(text: string): Record<string, unknown> | string {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return text;
  }
}
