import type { Readable } from "node:stream";

const maxCharacters = 4000;

/** Collects the output of a helper process, up to a limit. The returned function gives the output so far. */
export function collectText(stream: Readable | null): () => string {
  let text = "";
  stream?.setEncoding("utf8");
  stream?.on("data", (piece: string) => {
    if (text.length < maxCharacters) text = (text + piece).slice(0, maxCharacters);
  });
  stream?.on("error", () => {});
  return () => text;
}
