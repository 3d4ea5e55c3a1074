import { CodecellError, messageOf } from "../../lib/errors.ts";
import { deadline } from "../../lib/waiting/deadline.ts";
import type { SrtHost } from "./host.ts";
import { srtSettings } from "./settings.ts";
import { spawnWrapped } from "./spawn-wrapped.ts";

/** Timeouts of a trial: shorter while `auto` can still choose another runner. */
export const trialMs = { quick: 1_900, patient: 15_000 };
const fix =
  "fix what `codecell doctor` says about the process runner, because srt needs the same; or use the wasm runner";

/** Runs `true` in srt's sandbox, because only a real trial shows whether namespaces can be created. */
export async function trySrt(host: SrtHost, timeoutMs: number): Promise<void> {
  using limit = deadline(timeoutMs);
  await runNothing(host, limit.signal).catch((error: unknown) => {
    if (error instanceof CodecellError && error.code === "runner_unavailable") throw error;
    const cause: unknown = limit.signal.aborted ? limit.signal.reason : error;
    throw new CodecellError("runner_unavailable", messageOf(cause), { hint: fix, cause });
  });
}

async function runNothing(host: SrtHost, signal: AbortSignal): Promise<void> {
  const uid = host.users?.forPolicy({ mounts: [], policyHash: "0" });
  const srt = host.services.of(uid);
  // Only srt's proxy needs socat, and cells do not use it.
  const errors = (await srt.missing(signal)).filter((error) => !error.includes("socat"));
  if (errors.length > 0) {
    const hint = "apt install bubblewrap ripgrep (Debian, Ubuntu), dnf install bubblewrap ripgrep (Fedora)";
    throw new CodecellError(
      "runner_unavailable",
      `sandbox-runtime needs programs that are missing: ${errors.join("; ")}`,
      { hint },
    );
  }
  const workspace = `${host.ownDir}/empty`;
  const settings = srtSettings({ ...host, workspace, mounts: [], denied: [] });
  const { wrapped, service } = await host.services.wrap(uid, "exit 0", settings, signal);
  try {
    const trial = spawnWrapped(wrapped, uid);
    signal.addEventListener("abort", trial.kill, { once: true });
    const { code, signal: endedBy, diagnostics } = await trial.exited;
    trial.channel.destroy();
    if (code !== 0) {
      signal.throwIfAborted();
      const lastLine = diagnostics.trim().split("\n").at(-1) || `it exited with ${code ?? endedBy}`;
      throw new CodecellError("runner_unavailable", `sandbox-runtime cannot run a command here: ${lastLine}`, {
        hint: fix,
      });
    }
  } finally {
    service.ended();
  }
}
