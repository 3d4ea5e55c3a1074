import { CodecellError } from "../../lib/errors.ts";
import type { CellExit } from "../runner.ts";
import { AttachedStream } from "./attached-stream.ts";
import { containerExit } from "./container-exit.ts";
import { type EngineClient, EngineRefusal } from "./engine-client.ts";
import type { Removals } from "./removals.ts";

const createMs = 60_000;

/** A container that runs, and the stream to its first process. */
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

/** Creates, attaches, starts. What was made is removed again when a later step fails. */
export async function startContainer(order: ContainerOrder): Promise<StartedContainer> {
  const { client, removals } = order;
  const limits = { timeoutMs: createMs, ...(order.signal ? { signal: order.signal } : {}) };
  const { Id: id } = await created(order, limits);
  try {
    const query = { stream: true, stdin: true, stdout: true, stderr: true };
    const { socket, head } = await client.hijack({
      method: "POST",
      path: `/containers/${id}/attach`,
      query,
      ...limits,
    });
    const stream = new AttachedStream(socket, head);
    try {
      await client.bytes({ method: "POST", path: `/containers/${id}/start`, ...limits });
    } catch (error) {
      stream.destroy();
      throw error;
    }
    return { id, stream, exited: containerExit(client, id, stream) };
  } catch (error) {
    if (isSilence(error)) removals.later(client, id);
    else await removals.remove(client, id);
    throw startFailed(error);
  }
}

async function created(
  { client, spec, name, removals }: ContainerOrder,
  limits: { timeoutMs: number; signal?: AbortSignal },
): Promise<{ Id: string }> {
  try {
    return await client.json<{ Id: string }>({
      ...{ method: "POST", path: "/containers/create", query: { name }, json: spec },
      ...limits,
    });
  } catch (error) {
    if (!(error instanceof EngineRefusal)) removals.doubtful(client, name);
    throw startFailed(error);
  }
}

/** The engine did not answer; asking it for anything else now would take as long again. */
function isSilence(error: unknown): boolean {
  return error instanceof CodecellError && error.code === "runner_unavailable";
}

function startFailed(error: unknown): unknown {
  if (!(error instanceof EngineRefusal)) return error;
  const isMissingImage = error.status === 404 && /image/i.test(error.message);
  return new CodecellError("cell_start_failed", `the container engine refused: ${error.message}`, {
    hint: isMissingImage ? "codecell image build, or pull the image that kernel.image names" : "run `codecell doctor`",
    cause: error,
  });
}
