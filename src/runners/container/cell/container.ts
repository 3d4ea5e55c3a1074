import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import type { CellExit } from "../../runner.ts";
import { AttachedStream } from "../engine/attached-stream.ts";
import { parseAnswer } from "../engine/engine-answer.ts";
import { type EngineClient, EngineRefusal } from "../engine/engine-client.ts";
import { containerExit } from "./container-exit.ts";
import type { Removals } from "./removals.ts";
import { startFailure } from "./start-failure.ts";

const createMs = 60_000;
/** The id becomes part of the path of later requests, so the pattern stops an engine from redirecting them. */
const createdSchema = z.object({
  Id: z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/),
  Warnings: z.array(z.string()).nullish(),
});
/** How engines warn that they created the container without a requested option. */
const ignoredOption = /\b(discarded|ignored)\b/i;

/** A container that is running or starting, and the stream to its first process. */
export interface StartedContainer {
  readonly id: string;
  readonly stream: AttachedStream;
  readonly exited: Promise<CellExit>;
}

export interface ContainerOrder {
  readonly client: EngineClient;
  /** the body of the Engine API request */
  readonly spec: unknown;
  readonly name: string;
  readonly removals: Removals;
  readonly signal?: AbortSignal;
}

/**
 * Creates, attaches to and starts a container. It returns before the engine confirms the start, because the first process
 * runs earlier. A failed start is reported through `exited`. The container is removed if a later step fails.
 */
export async function startContainer(order: ContainerOrder): Promise<StartedContainer> {
  const { client, removals } = order;
  const limits = { timeoutMs: createMs, ...(order.signal ? { signal: order.signal } : {}) };
  const { Id: id, Warnings: warnings } = await created(order, limits);
  try {
    assertNothingIgnored(client, warnings ?? []);
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
    // An engine that does not answer would only time out again, so remove the container later.
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
    return parseAnswer(client, createdSchema, await client.json({ ...request, ...limits }), "a new container");
  } catch (error) {
    if (!(error instanceof EngineRefusal)) removals.doubtful(client, name);
    throw startFailure(error, client.address.name);
  }
}

/** Stops an engine from dropping a limit that the receipt promises. Engines only warn about it. */
function assertNothingIgnored({ address }: EngineClient, warnings: readonly string[]): void {
  const ignored = warnings.find((warning) => ignoredOption.test(warning));
  if (ignored === undefined) return;
  throw new CodecellError("cell_start_failed", `${address.name} cannot enforce a limit of the policy: ${ignored}`, {
    hint: "use an engine with cgroup v2, or another runner",
  });
}
