import { createServer } from "node:net";
import { expect, test } from "vitest";
import { listenFailure } from "./listen-failure.ts";

async function failure(host: string, port: number) {
  const server = createServer().listen(port, host);
  const cause = await new Promise<NodeJS.ErrnoException>((resolve) => server.once("error", resolve));
  return listenFailure(host, port, cause);
}

test("a port in use is reported with the fix", async () => {
  const first = createServer();
  await new Promise<void>((resolve) => first.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = first.address() as { port: number };
    expect(await failure("127.0.0.1", port)).toMatchObject({
      code: "usage",
      message: `cannot listen on 127.0.0.1:${port}: another program uses this port`,
      hint: "choose another --port, or 0 for any",
    });
  } finally {
    first.close();
  }
});

test("an address of another machine is reported with the fix", async () => {
  const { message, hint } = await failure("192.0.2.1", 0);
  expect(message).toBe("cannot listen on 192.0.2.1:0: this machine does not have this address");
  expect(hint).toContain("--host");
});
