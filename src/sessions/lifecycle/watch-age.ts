import type { Policy } from "../../policy/schema.ts";
import { formatDuration } from "../../policy/units.ts";

/** What a session's age is told by. */
interface AgingSession {
  /** wall-clock milliseconds of the last use */
  readonly usedMs: number;
  readonly isBusy: boolean;
}

/** How soon a session that is busy beyond its idle time is looked at again. */
const busyMs = 100;

/** Says that a session has been idle or alive for too long, until it is stopped. */
export function watchAge(
  session: AgingSession,
  { idleMs, lifetimeMs }: Pick<Policy["session"], "idleMs" | "lifetimeMs">,
  now: () => number,
  onOver: (why: string) => void,
): { stop(): void } {
  const lifetime = setTimeout(() => {
    onOver(`it reached session.lifetime (${formatDuration(lifetimeMs)})`);
  }, lifetimeMs).unref();
  let idle: NodeJS.Timeout;
  // One timer that looks again later when the session was used meanwhile: no work per call.
  const look = () => {
    const leftMs = session.usedMs + idleMs - now();
    if (leftMs > 0 || session.isBusy) arm(Math.max(leftMs, busyMs));
    else onOver(`it was idle for session.idle (${formatDuration(idleMs)})`);
  };
  const arm = (ms: number) => {
    idle = setTimeout(look, ms).unref();
  };
  arm(idleMs);
  const stop = () => {
    clearTimeout(lifetime);
    clearTimeout(idle);
  };
  return { stop };
}
