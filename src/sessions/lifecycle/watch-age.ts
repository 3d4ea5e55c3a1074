import { formatDuration } from "../../policy/format-units.ts";
import type { Policy } from "../../policy/schema.ts";

/** What decides whether a session expires. */
interface AgingSession {
  /** when it was used last, by the clock of `performance`: the time of day may jump */
  readonly usedAt: number;
  readonly isBusy: boolean;
}

/** How soon a session that is busy after its idle time is checked again. */
const busyMs = 100;

/** Reports when a session has been idle or live for too long, until the watch is stopped. */
export function watchAge(
  session: AgingSession,
  { idleMs, lifetimeMs }: Pick<Policy["session"], "idleMs" | "lifetimeMs">,
  onOver: (why: string) => void,
): { stop(): void } {
  const lifetime = setTimeout(() => {
    onOver(`it reached session.lifetime (${formatDuration(lifetimeMs)})`);
  }, lifetimeMs).unref();
  let idle: NodeJS.Timeout;
  // One timer, which is set again if the session was used meanwhile: a call needs no timer of its own.
  const look = () => {
    const leftMs = session.usedAt + idleMs - performance.now();
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
