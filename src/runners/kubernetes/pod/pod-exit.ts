import type { Duplex } from "node:stream";
import { CodecellError } from "../../../lib/errors.ts";
import type { CellExit } from "../../runner.ts";
import type { StartedPod } from "./started-pod.ts";

/** Nobody need wait for the answer of a pod that has ended. */
export function untilEnded(pod: StartedPod, signal: AbortSignal | undefined): AbortSignal {
  const ended = new AbortController();
  void pod.ending.then(({ error }) => ended.abort(error));
  return signal ? AbortSignal.any([signal, ended.signal]) : ended.signal;
}

/** A connection that breaks while the pod lives ends the cell too: what was on its way is lost. */
export async function exitOf(
  pod: StartedPod,
  channel: Duplex & { readonly log?: string },
): Promise<CellExit & { readonly isOutOfMemory: boolean }> {
  const broken = new Promise<"broken">((resolve) => channel.once("close", () => resolve("broken")));
  const first = await Promise.race([pod.ending, broken]);
  const noticed = first === "broken" ? await Promise.race([pod.ending, after(3_000)]) : first;
  if (noticed === undefined) {
    const reason = new CodecellError(
      "cell_lost",
      `the connection to the pod on the node ${pod.node ?? "unknown"} broke`,
      {
        details: { node: pod.node },
      },
    );
    return { code: null, signal: null, diagnostics: channel.log ?? "", reason, isOutOfMemory: false };
  }
  const { exitCode, message, error, isOutOfMemory } = noticed;
  return { code: exitCode, signal: null, diagnostics: channel.log || message, reason: error, isOutOfMemory };
}

function after(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms).unref());
}
