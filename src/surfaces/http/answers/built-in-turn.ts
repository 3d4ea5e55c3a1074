import type { SerialQueue } from "../../../lib/waiting/serial-queue.ts";
import { freeBytes, type MemoryLease } from "../../../service/body-memory.ts";

/**
 * Builds one large response of a queue at a time. The next one waits until this one has memory. The attack: a client asks for many
 * large responses and reads none. Each would be built and then wait for memory in memory.
 */
export function builtInTurn(
  { queue, memory, signal }: { queue: SerialQueue; memory: MemoryLease | undefined; signal: AbortSignal },
  build: () => Promise<Uint8Array>,
): Promise<Uint8Array> {
  return queue.run(async () => {
    const bytes = await build();
    if (bytes.byteLength > freeBytes) await memory?.holdWhenFree(bytes.byteLength - freeBytes, signal);
    return bytes;
  }, signal);
}
