import { CodecellError } from "../../../lib/errors.ts";
import type { CellExit } from "../../runner.ts";
import type { AttachedStream } from "../engine/attached-stream.ts";
import { type EngineClient, EngineRefusal } from "../engine/engine-client.ts";

const foreverMs = 2 ** 31 - 1;
/** The stream closes a moment before the engine reports the exit. An engine that hangs never reports it. */
const noticeMs = 3_000;
const killedCode = 137;
/** how often Podman looks whether the container still runs */
const podmanInterval = "100ms";

type Outcome = { readonly code: number | null } | { readonly error: unknown };

/** Settles when the engine reports that a container exited, or can no longer report anything. */
export async function containerExit(
  client: EngineClient,
  id: string,
  stream: AttachedStream,
  starting: Promise<unknown>,
): Promise<CellExit> {
  const asking = new AbortController();
  const closed = new Promise<"closed">((resolve) => stream.once("close", () => resolve("closed")));
  const waiting = starting
    .then(() => exitOf(client, id, asking.signal))
    .then(
      (answer): Outcome => ({ code: answer?.StatusCode ?? null }),
      (error: unknown): Outcome => ({ error }),
    );
  const first = await Promise.race([waiting, closed]);
  const outcome = first === "closed" ? await Promise.race([waiting, after(noticeMs)]) : first;
  // An engine may report the exit before it has passed on the container's last words.
  if (first !== "closed") await Promise.race([closed, after(noticeMs)]);
  asking.abort(); // an open request would keep this process running
  const code = outcome && "code" in outcome ? outcome.code : null;
  const reason = exitReason(client.address, outcome);
  return { code, signal: null, diagnostics: stream.log, reason };
}

interface Waited {
  readonly StatusCode?: number;
}

/**
 * Podman before 4.5 polls for a removal without a pause, which takes a whole core for each cell
 * (https://github.com/containers/podman/issues/18150). So Podman is asked for the exit, by a request of its own that has an interval. Whoever
 * closes the cell then makes sure that the container is gone.
 */
async function exitOf(client: EngineClient, id: string, signal: AbortSignal): Promise<Waited | undefined> {
  const wait = <Answer>(path: string, query: Record<string, string>) =>
    client.json<Answer>({ method: "POST", path: `${path}/${id}/wait`, query, timeoutMs: foreverMs, signal });
  if (client.address.kind !== "podman") return await wait("/containers", { condition: "removed" });
  return { StatusCode: await wait<number>("/libpod/containers", { interval: podmanInterval }) };
}

/** Pure: why a container exited unexpectedly. Podman also reports code 0 for a container that was killed. */
export function exitReason(
  { name, shown }: { name: string; shown: string },
  outcome: Outcome | undefined,
): CodecellError {
  if (outcome === undefined) {
    return new CodecellError("runner_unavailable", `${name} did not report how the container exited`, {
      hint: `check the daemon behind ${shown}, or use another runner`,
    });
  }
  if ("error" in outcome) {
    const { error } = outcome;
    if (error instanceof EngineRefusal) return new CodecellError("cell_lost", "the container no longer exists");
    return error instanceof CodecellError ? error : new CodecellError("internal", String(error));
  }
  const { code } = outcome;
  if (code === 0) return new CodecellError("cell_lost", "the container was stopped, but not by codecell");
  if (code === killedCode) {
    return new CodecellError(
      "cell_lost",
      "the container was killed, by another program or because it ran out of memory",
    );
  }
  return new CodecellError("cell_lost", `the container exited with code ${code ?? "unknown"}`);
}

function after(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms).unref());
}
