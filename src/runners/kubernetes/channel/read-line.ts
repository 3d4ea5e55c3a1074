import type { Duplex } from "node:stream";

const answerMs = 30_000;
const longestAnswer = 64 * 1024;

/** The next line that a program of codecell prints in a pod of its own, and what came after it. `before`: what is left of the last one. */
export async function readLine(stream: Duplex, before = ""): Promise<{ readonly line: string; readonly rest: string }> {
  let text = before;
  const timer = setTimeout(() => stream.destroy(new Error("a probe pod did not answer")), answerMs);
  try {
    while (!text.includes("\n")) {
      const piece = stream.read();
      if (piece === null) await readable(stream);
      else text += String(piece);
      if (text.length > longestAnswer) throw new Error("a probe pod sent too much");
    }
  } finally {
    clearTimeout(timer);
  }
  const at = text.indexOf("\n");
  return { line: text.slice(0, at), rest: text.slice(at + 1) };
}

function readable(stream: Duplex): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error) => {
      stream.off("readable", ready).off("error", settle).off("close", closed);
      if (error) reject(error);
      else resolve();
    };
    const ready = () => settle();
    const closed = () => settle(new Error("the connection to a probe pod ended"));
    stream.once("readable", ready).once("error", settle).once("close", closed);
    if (stream.destroyed) closed();
  });
}
