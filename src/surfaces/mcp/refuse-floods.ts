import type { Transport } from "@modelcontextprotocol/client";

const maxPerSecond = 1_000;

/**
 * Ends a connection whose server sends more than a thousand messages a second that nobody asked for. The attack: a server
 * that keeps this process busy with reading them.
 */
export function refuseFloods(transport: Transport, end: () => void): void {
  const receive = transport.onmessage;
  let [second, count] = [0, 0];
  transport.onmessage = (message, extra) => {
    if ("method" in message) {
      const now = Math.floor(performance.now() / 1000);
      if (now !== second) [second, count] = [now, 0];
      if (++count > maxPerSecond) {
        transport.onmessage = () => {};
        end();
        return;
      }
    }
    receive?.(message, extra);
  };
}
