import type { Duplex } from "node:stream";

const farewellMs = 2_000;

/** Says it and hangs up, whether or not the client reads. */
export function sayGoodbye(client: Duplex, text: string | Buffer): void {
  const timer = setTimeout(() => client.destroy(), farewellMs);
  client.once("close", () => clearTimeout(timer));
  client.resume(); // unread bytes would turn the end into a reset, and the client would not see the text
  client.end(text);
}
