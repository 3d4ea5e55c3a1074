/** Pure: figures as people read them. All of it is in English, as the rest of the page is. */

const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];

/** `0 B`, `512 B`, `1.5 KiB`, `20 MiB` */
export function formatBytes(bytes: number): string {
  if (!Number.isFinite(bytes) || bytes < 0) return "unknown";
  if (bytes < 1024) return `${Math.round(bytes)} B`;
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1023.95 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${short(value)} ${units[unit]}`;
}

/** `3 ms`, `1.2 s`, `2 min 5 s`, `3 h 20 min`, `4 d 2 h` */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return "unknown";
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${short(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3_600) return twoParts(seconds, 60, "min", 1, "s");
  if (seconds < 86_400) return twoParts(seconds, 3_600, "h", 60, "min");
  return twoParts(seconds, 86_400, "d", 3_600, "h");
}

const counts = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });

/** `12,345` */
export function formatCount(count: number): string {
  return counts.format(count);
}

/** `1 file`, `2 files` */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** `just now`, `5 min ago`, `in 2 h`; the date itself after 30 days */
export function relativeTime(iso: string, nowMs: number): string {
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return "unknown";
  const ms = Math.abs(nowMs - at);
  if (ms < 5_000) return "just now";
  if (ms >= 30 * 86_400_000) return iso.slice(0, 10);
  const text = roughly(ms / 1000);
  return at > nowMs ? `in ${text}` : `${text} ago`;
}

/** The date and time of this browser's place, such as `2026-11-17 16:20:05`. */
export function formatTime(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return "unknown";
  const two = (part: number) => String(part).padStart(2, "0");
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${date} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

function roughly(seconds: number): string {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

function twoParts(value: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((value % large) / small);
  return `${Math.floor(value / large)} ${largeName}${rest === 0 ? "" : ` ${rest} ${smallName}`}`;
}

/** One decimal below 10. */
function short(value: number): string {
  const rounded = value < 9.95 ? Math.round(value * 10) / 10 : Math.round(value);
  return String(rounded);
}
