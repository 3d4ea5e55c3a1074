import { createContext, runInContext } from "node:vm";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FakeRunner } from "../../test/fakes/fake-runner.ts";
import { TestService } from "../../test/support/http-service.ts";

let code: string;
let service: TestService;
beforeAll(async () => {
  const entry = new URL("./index.ts", import.meta.url).pathname;
  const build = await rolldown({ input: entry, platform: "browser", transform: { target: "es2022" } });
  const { output } = await build.generate({ format: "iife", name: "codecell", minify: true });
  await build.close();
  code = output[0].code;
  expect(output.length).toBe(1);
  expect(output[0].imports).toEqual([]);
  service = await TestService.open({
    runners: [
      new FakeRunner({
        program: (run) => {
          run.print("stdout", run.code);
          return {};
        },
      }),
    ],
  });
});
afterAll(() => service?.[Symbol.asyncDispose]());

test("the client's bundle for browsers imports nothing and stays small", () => {
  console.log(`the client has ${code.length} bytes, minified`);
  expect(code).not.toMatch(/node:|\brequire\(/);
  expect(code.length).toBeLessThan(50_000);
});

test("the client's bundle works where there is only what browsers and edge runtimes have", async () => {
  const { token = "" } = await service.client("a");
  // no process, no Buffer, no require; timers are those of every web platform
  const web = {
    ...{ fetch, Request, Response, Headers, ReadableStream, TextDecoder, TextEncoder, AbortController, AbortSignal },
    ...{ URL, crypto: globalThis.crypto, atob, performance, setTimeout, clearTimeout },
  };
  const program = `${code};
    (async () => {
      if (typeof process !== "undefined" || typeof Buffer !== "undefined") throw new Error("this is Node");
      const box = await codecell.connect({ url: ${JSON.stringify(service.listener.url)}, token: ${JSON.stringify(token)} });
      const session = await box.session("browser");
      const run = session.run("hello");
      const seen = [];
      for await (const event of run) seen.push(event.text);
      const { stdout, status } = await run;
      await session.close();
      await box.close();
      return JSON.stringify({ seen, stdout, status });
    })()`;
  const said = await runInContext(program, createContext(web));
  expect(JSON.parse(said)).toEqual({ seen: ["hello"], stdout: "hello", status: "ok" });
});
