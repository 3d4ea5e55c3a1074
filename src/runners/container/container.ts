import { CodecellError } from "../../lib/errors.ts";
import type { CellExit } from "../runner.ts";
import { AttachedStream } from "./attached-stream.ts";
import { type EngineClient, EngineRefusal } from "./engine-client.ts";

const createMs = 60_000;
const removeMs = 15_000;
const foreverMs = 2 ** 31 - 1;

/** A container that runs, and the stream to its first process. */
export interface StartedContainer {
  readonly id: string;
  readonly stream: AttachedStream;
  readonly exited: Promise<CellExit>;
  /** Ends it, whatever state it is in; safe to call twice. */
  remove(): Promise<void>;
}

/** Creates, attaches, starts. What was made is removed again when a later step fails. */
export async function startContainer(
  client: EngineClient,
  spec: unknown,
  name: string,
  signal?: AbortSignal,
): Promise<StartedContainer> {
  const limits = { timeoutMs: createMs, ...(signal ? { signal } : {}) };
  const { Id: id } = await created(client, spec, name, limits);
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
    return { id, stream, exited: exitOf(client, id, stream), remove: () => removeContainer(client, id) };
  } catch (error) {
    await removeContainer(client, id).catch(() => {});
    throw startFailed(error);
  }
}

async function created(
  client: EngineClient,
  json: unknown,
  name: string,
  limits: { timeoutMs: number; signal?: AbortSignal },
): Promise<{ Id: string }> {
  try {
    return await client.json<{ Id: string }>({
      ...{ method: "POST", path: "/containers/create", query: { name }, json },
      ...limits,
    });
  } catch (error) {
    // A request that was given up may have been carried out all the same.
    if (!(error instanceof EngineRefusal)) await removeContainer(client, name).catch(() => {});
    throw startFailed(error);
  }
}

/** Ends and removes a container. One that is gone, or on its way out, is what we want. */
export async function removeContainer(client: EngineClient, id: string): Promise<void> {
  try {
    const query = { force: true, v: true };
    await client.bytes({ method: "DELETE", path: `/containers/${id}`, query, timeoutMs: removeMs });
  } catch (error) {
    const isGoing = error instanceof EngineRefusal && (error.status === 404 || error.status === 409);
    if (!isGoing) throw error;
  }
}

/** Settles when the engine says that it is gone, or when nothing can be heard of it any more. */
async function exitOf(client: EngineClient, id: string, stream: AttachedStream): Promise<CellExit> {
  const closed = new Promise<void>((resolve) => stream.once("close", resolve));
  const waiting = client
    .json<{ StatusCode?: number }>({
      ...{ method: "POST", path: `/containers/${id}/wait`, query: { condition: "removed" }, timeoutMs: foreverMs },
    })
    .catch(() => undefined);
  const first = await Promise.race([waiting, closed.then(() => "closed" as const)]);
  // The stream closes an instant before the engine has noticed.
  const answer = first === "closed" ? await Promise.race([waiting, after(goneMs)]) : first;
  return { code: answer?.StatusCode ?? null, signal: null, diagnostics: stream.log };
}

const goneMs = 3_000;

function after(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms).unref());
}

function startFailed(error: unknown): unknown {
  if (!(error instanceof EngineRefusal)) return error;
  const isMissingImage = error.status === 404 && /image/i.test(error.message);
  return new CodecellError("cell_start_failed", `the container engine refused: ${error.message}`, {
    hint: isMissingImage ? "codecell image build, or pull the image that kernel.image names" : "run `codecell doctor`",
    cause: error,
  });
}
