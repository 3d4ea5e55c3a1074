import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { silentLogger } from "../../../lib/log/logger.ts";
import { parseEngineAddress } from "../engine/engine-address.ts";
import { EngineClient } from "../engine/engine-client.ts";
import { Removals } from "./removals.ts";

/** A fake engine that can remove and unpause containers. */
class FakeEngine {
  readonly containers = new Set<string>();
  readonly paused = new Set<string>();
  /** containers that the engine says it is already removing */
  readonly going = new Set<string>();
  readonly requests: string[] = [];
  readonly #server: Server;
  readonly client: EngineClient;

  readonly socketPath: string;

  constructor(socketPath: string) {
    this.socketPath = socketPath;
    const address = parseEngineAddress("docker", `unix://${socketPath}`, "the test");
    if (!address) throw new Error("not an address");
    this.client = new EngineClient(address);
    this.#server = createServer(({ method, url = "" }, answer) => {
      const [, id = "", action] = /^\/v[\d.]+\/containers\/([^/?]+)(?:\/(\w+))?/.exec(url) ?? [];
      this.requests.push(`${method} ${id}${action ? ` ${action}` : ""}`);
      const isThere = this.containers.has(id);
      if (action === "unpause") answer.statusCode = this.paused.delete(id) ? 204 : 409;
      else answer.statusCode = isThere ? 204 : 404;
      if (method === "DELETE" && this.going.has(id)) answer.statusCode = 409;
      else if (method === "DELETE") this.containers.delete(id);
      answer.end();
    });
  }

  async up(): Promise<void> {
    this.#server.listen(this.socketPath);
    await once(this.#server, "listening");
  }

  async down(): Promise<void> {
    this.#server.close();
    await once(this.#server, "close");
  }
}

describe("Removals", () => {
  let directory: string;
  let engine: FakeEngine;
  let removals: Removals;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "cc-removals-"));
    engine = new FakeEngine(join(directory, "engine.sock"));
    removals = new Removals(silentLogger, 40);
  });
  afterEach(async () => {
    await removals[Symbol.asyncDispose]();
    await engine.down().catch(() => {});
    await rm(directory, { recursive: true, force: true });
  });
  const until = (holds: () => boolean) =>
    vi.waitFor(() => expect(holds()).toBe(true), { interval: 2, timeout: 10_000 });

  test("removes a container at once if the engine answers", async () => {
    await engine.up();
    engine.containers.add("one");
    await removals.remove(engine.client, "one");
    await removals.remove(engine.client, "never-was");
    expect([engine.containers.size, removals.due]).toEqual([0, 0]);
  });

  test("retries on its own until the engine answers again", async () => {
    engine.containers.add("one").add("two");
    await removals.remove(engine.client, "one");
    removals.later(engine.client, "two");
    expect(removals.due).toBe(2);
    await engine.up();
    await until(() => removals.due === 0);
    expect(engine.containers.size).toBe(0);
  });

  test("removes a container that the engine creates after the request was aborted", async () => {
    await engine.up();
    removals.doubtful(engine.client, "late");
    await until(() => engine.requests.length === 2);
    expect(removals.due).toBe(1);
    engine.containers.add("late");
    await until(() => engine.containers.size === 0);
  });

  test("retries if the engine only says that it is already removing the container", async () => {
    await engine.up();
    engine.containers.add("one");
    engine.going.add("one");
    await removals.remove(engine.client, "one");
    expect(removals.due).toBe(1);
    engine.going.clear();
    await until(() => removals.due === 0);
    expect(engine.containers.size).toBe(0);
  });

  test("unpauses a paused container before removing it", async () => {
    await engine.up();
    engine.containers.add("one");
    engine.paused.add("one");
    await removals.end(engine.client, "one");
    expect(engine.requests).toEqual(["POST one unpause", "DELETE one"]);
    expect(engine.containers.size).toBe(0);
  });

  test("tries once more when it is disposed", async () => {
    engine.containers.add("one");
    removals.later(engine.client, "one");
    await engine.up();
    await removals[Symbol.asyncDispose]();
    expect(engine.containers.size).toBe(0);
  });
});
