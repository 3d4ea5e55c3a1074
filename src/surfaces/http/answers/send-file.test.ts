import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { mappedFile } from "../../../../test/fakes/mapped-file.ts";
import { HashCache } from "../../../service/files/served-file.ts";
import { sendFile } from "./send-file.ts";

const size = 700_000;

/** A server with a link to this content, and how a request for a range of it ends. */
async function linked(content: Buffer) {
  const sha256 = createHash("sha256").update(content).digest("hex");
  const [files, digests] = [mappedFile(content), new HashCache()];
  const server = createServer(async (request, response) => {
    const { signal } = new AbortController();
    const options = { disposition: "attachment", sha256, digests, stallMs: 1_000, signal } as const;
    const { send } = await sendFile(files, "data", request, options);
    await send(response, signal);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return async (start: number, end: number): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${port}`, { headers: { range: `bytes=${start}-${end - 1}` } });
    return Buffer.from(await answer.arrayBuffer()).toString("latin1");
  };
}

const ranges = [
  [0, 1],
  [262_143, 262_145],
  [300_000, 400_000],
  [100, 699_999],
  [699_999, 700_000],
] as const;

test.each(ranges)("a link serves the bytes %i to %i of the file that it was signed for", async (start, end) => {
  const content = Buffer.alloc(size, "codecell");
  const get = await linked(content);
  for (let turn = 0; turn < 2; turn++) expect(await get(start, end)).toBe(content.toString("latin1", start, end));
});

test.each(ranges)(
  "a link serves no other bytes %i to %i after a write that the file does not show",
  async (start, end) => {
    const content = Buffer.alloc(size, "codecell");
    const get = await linked(content);
    await get(start, end);
    content[end - 1] = 0;
    await expect(get(start, end)).rejects.toThrow();
  },
);
