import { once } from "node:events";
import type { Duplex } from "node:stream";

/** Settles when the other side has closed the channel, which the template does after the cell is gone. */
export async function channelClosed(channel: Duplex): Promise<void> {
  if (channel.closed || channel.readableEnded) return;
  await Promise.race([once(channel, "end"), once(channel, "close")]).catch(() => {});
}
