import type { RunLog } from "../../../sessions/runs/run-log.ts";
import { formatBytes } from "./text/format-bytes.ts";

const lookMs = 1_000;
const repeatMs = 60_000;

/**
 * Says that a program prints more than its limit: its output appears to stop, although it is still printing. Says nothing about a
 * run that ends within a second, and repeats itself once a minute with the new amount.
 */
export function noticeHeldOutput(log: Pick<RunLog, "heldBytes">, print: (notice: string) => void): Disposable {
  let before = 0;
  let printed = { bytes: 0, atMs: Number.NEGATIVE_INFINITY };
  const look = () => {
    const bytes = log.heldBytes;
    const isNews = bytes > printed.bytes && performance.now() >= printed.atMs + repeatMs;
    if (before > 0 && isNews) {
      printed = { bytes, atMs: performance.now() };
      print(heldOutputText(bytes));
    }
    before = bytes;
  };
  const timer = setInterval(look, lookMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function heldOutputText(bytes: number): string {
  return (
    `the program printed more than the output limit; ${formatBytes(bytes)} are held back so far, ` +
    "and the last part is printed when it ends; raise the limit with --output-limit"
  );
}
