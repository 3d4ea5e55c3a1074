import type { Writable } from "node:stream";

/** For `_writev` of a pass-through stream: writes the chunks with one system call and one callback. */
export function writeAll(
  target: Writable,
  pieces: readonly { readonly chunk: Buffer }[],
  callback: (error?: Error | null) => void,
): void {
  target.cork();
  pieces.forEach(({ chunk }, at) => {
    target.write(chunk, at === pieces.length - 1 ? callback : undefined);
  });
  target.uncork();
}
