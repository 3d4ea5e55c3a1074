import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { expect, onTestFinished, test } from "vitest";
import { fastestRunner } from "../support/fastest-runner.ts";
import { findProgram } from "../support/find-program.ts";
import { TestService } from "../support/http-service.ts";

const chromium = findProgram("chromium");
const title = "a page in Chromium runs code, reads its events and uploads a stream through a proxy";

test.skipIf(chromium === undefined)(chromium ? title : `${title} (Chromium is not installed)`, async () => {
  const script = await bundle();
  const { url, port, said, serve } = await startSite(script);
  const service = await TestService.open({ runners: [fastestRunner()], hostNames: [`127.0.0.1:${port}`] });
  onTestFinished(() => service[Symbol.asyncDispose]());
  const { token } = await service.client("a");
  serve(service.listener.port);
  const browser = await startChromium(`${url}/page#${token}`);
  const early = once(browser, "exit").then(() => "Chromium exited before the page was ready");
  expect(await Promise.race([said, early])).toBe(
    JSON.stringify({
      ...{ printed: "one\ntwo\n", status: "ok", size: 5, content: "hello", again: 2 },
      ...{ refused: "session_unknown", missing: "file_missing" },
    }),
  );
});

/** What the page does, with everything that browsers do in their own way: streams of events, streamed bodies, ranges. */
const page = `
  (async () => {
    const box = await codecell.connect({ url: location.origin, token: location.hash.slice(1) });
    const session = await box.session("browser");
    const run = session.run("for word in ('one', 'two'): print(word)");
    let printed = "";
    for await (const event of run) printed += event.text;
    const { status } = await run;
    async function* pieces() {
      yield new TextEncoder().encode("hel");
      yield new TextEncoder().encode("lo");
    }
    const { size } = await session.upload("a.txt", pieces());
    const files = await session.files();
    const { data } = await files.read("a.txt");
    const again = (await session.upload("b.txt", new Uint8Array(2))).size;
    const failure = (work) => work.then(() => "none", (error) => error.code);
    const refused = await failure(box.get("nobody"));
    const missing = await failure(files.read("none"));
    await session.close({ forget: true });
    return JSON.stringify({ printed, status, size, content: new TextDecoder().decode(data), again, refused, missing });
  })().catch((error) => String(error.stack)).then((body) => fetch("/said", { method: "POST", body }));`;

/** The client as a script for pages, as a bundler makes it. */
async function bundle(): Promise<string> {
  const build = await rolldown({
    input: new URL("../../src/client/index.ts", import.meta.url).pathname,
    platform: "browser",
  });
  const { output } = await build.generate({ format: "iife", name: "codecell" });
  await build.close();
  return output[0].code;
}

/** A site with the page and the service under one name, as docs/clients-typescript.md asks for. */
async function startSite(script: string) {
  let say = (_: string) => {};
  let servicePort = 0;
  const said = new Promise<string>((resolve) => {
    say = resolve;
  });
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/v1/")) return passOn(request, response, servicePort);
    if (request.url === "/said") return void text(request).then(say, () => {});
    response.setHeader("content-type", "text/html; charset=utf-8");
    response.end(
      `<!doctype html><script>${script.replaceAll("</script", "<\\/script")}</script><script>${page}</script>`,
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const serve = (to: number) => {
    servicePort = to;
  };
  return { url: `http://127.0.0.1:${port}`, port, said, serve };
}

function passOn(request: IncomingMessage, response: ServerResponse, port: number): void {
  const { method, url: path, headers } = request;
  const onward = httpRequest({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  response.on("close", () => onward.destroy());
  request.pipe(onward);
}

async function text(request: IncomingMessage): Promise<string> {
  let said = "";
  for await (const chunk of request) said += chunk;
  return said;
}

async function startChromium(url: string): Promise<ChildProcess> {
  const home = await mkdtemp(join(tmpdir(), "codecell-chromium-"));
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", `--user-data-dir=${home}`];
  const offline = [
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-proxy-server",
  ];
  const options = { stdio: "ignore", detached: true, env: { ...process.env, HOME: home, TMPDIR: home } } as const;
  const browser = spawn(chromium ?? "", [...flags, ...offline, "--remote-debugging-port=0", url], options);
  onTestFinished(async () => {
    if (browser.exitCode === null && browser.signalCode === null) {
      const exited = once(browser, "exit");
      process.kill(-(browser.pid ?? 0), "SIGKILL"); // its whole group: it has many processes
      await exited;
    }
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  });
  return browser;
}
