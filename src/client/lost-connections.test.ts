import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FakeRun, FakeRunner } from "../../test/fakes/fake-runner.ts";
import { CuttingRelay } from "../../test/support/cutting-relay.ts";
import { TestService } from "../../test/support/http-service.ts";
import { type CodecellError, connect, type RemoteCodecell } from "./index.ts";

/** `steps`: prints a number each time the test calls `step`, up to 5. `flood`: prints 8 MiB. Other code is printed. */
let step = () => {};
let started = 0;
async function program(run: FakeRun) {
  started++;
  if (run.code === "flood") for (let at = 0; at < 512; at++) run.print("stdout", "x".repeat(16 * 1024));
  if (run.code === "flood") return {};
  if (run.code !== "steps") {
    run.print("stdout", run.code);
    return {};
  }
  for (let at = 0; at < 5; at++) {
    const stepped = new Promise<void>((resolve) => {
      step = resolve;
    });
    run.print("stdout", `${at}\n`);
    await Promise.race([stepped, run.interrupted]);
  }
  return {};
}

let service: TestService;
let relay: CuttingRelay;
let codecell: RemoteCodecell;
let token: string;
beforeEach(async () => {
  started = 0;
  relay = await CuttingRelay.listen();
  const hostNames = [new URL(relay.url).host];
  const policy = { proc: { output: "16MiB" } };
  service = await TestService.open({ runners: [new FakeRunner({ program })], hostNames, policy });
  relay.target = service.listener.port;
  token = (await service.client("a")).token ?? "";
  codecell = await connect({ url: relay.url, token });
});
afterEach(async () => {
  await codecell?.close();
  await relay?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
});

describe("a run whose connections are cut", () => {
  test("loses no event, shows none twice, and gives its result", async () => {
    const session = await codecell.session("s");
    const run = session.run("steps");
    const seen: string[] = [];
    for await (const event of run) {
      if (event.type === "stdout") seen.push(event.text);
      relay.cut();
      step();
    }
    expect(seen).toEqual(["0\n", "1\n", "2\n", "3\n", "4\n"]);
    expect(await run).toMatchObject({ status: "ok", stdout: "0\n1\n2\n3\n4\n", id: 1 });
    expect(relay.connections).toBeGreaterThan(4);
    expect(started).toBe(1);
  });

  test("runs once, even if the reply to its start is cut at any place", async () => {
    const session = await codecell.session("s");
    let runs = 0;
    for (const bytes of [1, 40, 150, 300, 420, 600, 900, 1500]) {
      relay.cut();
      relay.replyBytes = bytes;
      expect(await session.run(`cut at ${bytes}`)).toMatchObject({ status: "ok", stdout: `cut at ${bytes}` });
      expect(started).toBe(++runs);
    }
  });

  test("is found again by its id after the client is closed", async () => {
    const session = await codecell.session("s");
    const left = session.run("steps");
    const id = await left.runId();
    await codecell.close();
    await expect(left).rejects.toMatchObject({ code: "aborted", message: expect.stringContaining("keeps running") });
    const later = await connect({ url: relay.url, token });
    const found = (await later.session("s")).attachRun(id);
    for await (const _ of found) step();
    expect(await found).toMatchObject({ status: "ok", runId: id, stdout: "0\n1\n2\n3\n4\n" });
    await later.close();
  });
});

test("a slow reader of events takes only what it reads, and then everything", async () => {
  let received = 0;
  const counting: typeof fetch = async (...given) => {
    const response = await fetch(...given);
    if (!String(given[0]).includes("/events")) return response; // the result has the output, too
    const counter = new TransformStream<Uint8Array, Uint8Array>(
      {
        transform(chunk, controller) {
          received += chunk.byteLength;
          controller.enqueue(chunk);
        },
      },
      { highWaterMark: 1 },
      { highWaterMark: 0 },
    );
    return new Response(response.body?.pipeThrough(counter) ?? null, response);
  };
  const slow = await connect({ url: relay.url, token, fetch: counting });
  const run = (await slow.session("s")).run("flood");
  const events = run[Symbol.asyncIterator]();
  let length = ((await events.next()).value as { text: string }).text.length;
  await (await codecell.session("s")).attachRun(await run.runId()); // everything is printed
  expect(received).toBeLessThan(1024 * 1024);
  for await (const event of events) if (event.type === "stdout") length += event.text.length;
  expect(length).toBe(8 * 1024 * 1024);
  await slow.close();
});

test("a service that is gone is named in the error, with what to do, and the token is not", async () => {
  const session = await codecell.session("s");
  await service[Symbol.asyncDispose]();
  await relay[Symbol.asyncDispose]();
  const error = await session.variables().catch((one: unknown) => one);
  expect(error).toMatchObject({ code: "service_unavailable", hint: expect.stringContaining("codecell serve") });
  expect(String(error)).toContain(relay.url);
  expect(JSON.stringify(error) + String((error as Error).stack)).not.toContain(token);
  expect(await session.run("x").catch((one: unknown) => (one as CodecellError).code)).toBe("service_unavailable");
});
