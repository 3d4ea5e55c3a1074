import { signal } from "@preact/signals";
import { formatTime, relativeTime } from "./format.ts";

/** The time, as often as ages on the page change. One timer serves all of them. */
const now = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now();
}, 5_000);

/** How long ago something was; the exact time is in its title. */
export function Ago({ at }: { at: string | null }) {
  if (at === null) return <span class="quiet">–</span>;
  return (
    <time dateTime={at} title={formatTime(at)}>
      {relativeTime(at, Math.max(now.value, Date.now() - 5_000))}
    </time>
  );
}
