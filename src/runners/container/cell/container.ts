import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import type { CellExit } from "../../runner.ts";
import { AttachedStream } from "../engine/attached-stream.ts";
import { understood } from "../engine/engine-answer.ts";
import { type EngineClient, EngineRefusal } from "../engine/engine-client.ts";
import { containerExit } from "./container-exit.ts";
import type { Removals } from "./removals.ts";
import { startFailure } from "./start-failure.ts";

const createMs = 60_000;
/** It becomes part of the path of every later request. */
const createdSchema = z.object({
  Id: z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/),
  Warnings: z.array(z.string()).nullish(),
});
/** How engines say that they made the container without something that was asked for. */
const givenUp = /\b(discarded|ignored)\b/i;

/** A container that runs or is about to, and the stream to its first process. */
export interface StartedContainer {
  readonly id: string;
  readonly stream: AttachedStream;
  readonly exited: Promise<CellExit>;
}

export interface ContainerOrder {
  readonly client: EngineClient;
  /** as the Engine API takes it */
  readonly spec: unknown;
  readonly name: string;
  readonly removals: Removals;
  readonly signal?: AbortSignal;
}

/**
 * Creates, attaches, starts. Comes back while the engine still starts it, for the first process runs before the engine
 * says so: a start that fails is how the container ended. What was made is removed when a later step fails.
 */
export async function startContainer(order: ContainerOrder): Promise<StartedContainer> {
  const { client, removals } = order;
  const limits = { timeoutMs: createMs, ...(order.signal ? { signal: order.signal } : {}) };
  const { Id: id, Warnings: warnings } = await created(order, limits);
  try {
    assertNothingGivenUp(client, warnings ?? []);
    const query = { stream: true, stdin: true, stdout: true, stderr: true };
    const path = `/containers/${id}/attach`;
    const { socket, head } = await client.hijack({ method: "POST", path, query, ...limits });
    const stream = new AttachedStream(socket, head);
    const starting = client.bytes({ method: "POST", path: `/containers/${id}/start`, ...limits }).catch((error) => {
      stream.destroy();
      throw startFailure(error, client.address.name);
    });
    return { id, stream, exited: containerExit(client, id, stream, starting) };
  } catch (error) {
    const failure = startFailure(error, client.address.name);
    // One that does not answer is not asked for anything else now: that would take as long again.
    if (failure.code === "runner_unavailable") removals.later(client, id);
    else await removals.remove(client, id);
    throw failure;
  }
}

async function created(
  { client, spec, name, removals }: ContainerOrder,
  limits: { timeoutMs: number; signal?: AbortSignal },
): Promise<z.output<typeof createdSchema>> {
  try {
    const request = { method: "POST", path: "/containers/create", query: { name }, json: spec } as const;
    return understood(client, createdSchema, await client.json({ ...request, ...limits }), "a new container");
  } catch (error) {
    if (!(error instanceof EngineRefusal)) removals.doubtful(client, name);
    throw startFailure(error, client.address.name);
  }
}

/** Stops a limit that the receipt promises from being left out with a warning that nobody reads. */
function assertNothingGivenUp({ address }: EngineClient, warnings: readonly string[]): void {
  const left = warnings.find((warning) => givenUp.test(warning));
  if (left === undefined) return;
  throw new CodecellError("cell_start_failed", `${address.name} would hold less than the policy asks for: ${left}`, {
    hint: "take an engine that can, such as one with cgroup v2, or another runner",
  });
}
