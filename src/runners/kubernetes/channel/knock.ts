import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import { CodecellError } from "../../../lib/errors.ts";
import { printable } from "../../../policy/file/problem.ts";

/** An answer can be lost while the kubelet connects the streams one after the other, so the host knocks again. */
const againMs = 500;
const mostBytes = 64 * 1024;
const begin = "begin\n";

/**
 * Waits until the process at the other end hears and is heard. Attaching shows nothing of the past, so the process says
 * nothing before the host does (`entry/pod.py`). Afterwards the stream's first byte is the first of the kernel's hello.
 */
export async function knock(stream: Duplex, signal: AbortSignal): Promise<void> {
  let seen = Buffer.alloc(0);
  let isOpened = false;
  const own = randomBytes(6).toString("hex");
  let knocks = 0;
  const send = () => {
    if (!isOpened && knocks < 100) stream.write(`knock ${own}${++knocks}\n`);
  };
  await new Promise<void>((resolve, reject) => {
    const timer = setInterval(send, againMs);
    const end = (error?: unknown) => {
      clearInterval(timer);
      signal.removeEventListener("abort", aborted);
      stream.off("readable", onReadable).off("close", closed).off("end", closed).off("error", closed);
      if (error === undefined) resolve();
      else reject(error);
    };
    const aborted = () => end(signal.reason ?? new Error("aborted"));
    const closed = (cause?: unknown) =>
      end(
        new CodecellError("cell_lost", "the connection to the pod ended before its kernel answered", {
          ...(cause instanceof Error ? { cause } : {}),
        }),
      );
    // Not with `data` and `pause`: whoever reads next could not know that the stream is paused.
    const onReadable = () => {
      for (let data = stream.read(); data !== null; data = stream.read()) {
        seen = Buffer.concat([seen, data]);
        if (!isOpened && seen.includes(`here ${own}`)) {
          isOpened = true;
          stream.write("open\n");
        }
        const at = isOpened ? seen.indexOf(begin) : -1;
        if (at < 0) {
          // Only the greeting has a limit: what follows it belongs to whoever reads next.
          if (seen.length > mostBytes) return end(notGreeting(seen));
          continue;
        }
        const rest = seen.subarray(at + begin.length);
        if (rest.length > 0) stream.unshift(rest);
        return end();
      }
    };
    stream.on("readable", onReadable).once("close", closed).once("end", closed).once("error", closed);
    signal.addEventListener("abort", aborted, { once: true });
    if (signal.aborted) aborted();
    else send();
  });
}

function notGreeting(seen: Buffer): CodecellError {
  const start = printable(seen.subarray(0, 400).toString("latin1"), 200);
  return new CodecellError("cell_lost", `the pod sent something else than its kernel's greeting: "${start}"`);
}
