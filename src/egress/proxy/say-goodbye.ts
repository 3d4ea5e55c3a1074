import type { Duplex } from "node:stream";

/** How long a client that was refused may take to read why. */
export const farewellMs = 2_000;

/** Sends the text and closes the connection, whether or not the client reads it. */
export function sayGoodbye(client: Duplex, text: string | Buffer): void {
  const timer = setTimeout(() => client.destroy(), farewellMs);
  client.once("close", () => clearTimeout(timer));
  client.resume(); // with unread bytes the OS would send a reset, and the client would lose the text
  client.end(text);
}
