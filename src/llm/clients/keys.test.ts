import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { type Script, scriptedKey, startScriptedModelServer } from "../../../test/fakes/scripted-model-server.ts";
import { CodecellError } from "../../lib/errors.ts";
import type { LmClient, LmRequest } from "../client.ts";
import { anthropicClient } from "./anthropic.ts";
import type { HttpClientOptions } from "./client-options.ts";
import { openAiClient } from "./openai.ts";

const formats = [
  { format: "anthropic", make: (options: HttpClientOptions) => anthropicClient({ apiKey: scriptedKey, ...options }) },
  { format: "openai", make: (options: HttpClientOptions) => openAiClient({ apiKey: scriptedKey, ...options }) },
] as const;
const request: LmRequest = { model: "m-1", messages: [{ role: "user", text: "Hi" }], maxTokens: 50 };
const signal = new AbortController().signal;

async function failed(client: LmClient): Promise<CodecellError> {
  const error = await client.complete(request, { signal }).then(
    (response) => new Error(`it answered: ${response.text}`),
    (thrown: unknown) => thrown,
  );
  if (error instanceof CodecellError) return error;
  throw error;
}

/** Everything that a log, a report or a debugger could show of an error. */
function everythingOf(error: unknown): string {
  const plain =
    error instanceof CodecellError ? JSON.stringify({ ...error, message: error.message, cause: error.cause }) : "";
  return `${inspect(error, { depth: 20, showHidden: true })} ${plain} ${error instanceof Error ? error.stack : ""}`;
}

describe.each(formats)("keys of the $format client", ({ format, make }) => {
  async function scripted(script: Script, options: HttpClientOptions = {}) {
    const server = await startScriptedModelServer(format, script);
    return {
      server,
      client: make({ baseUrl: server.url, ...options }),
      [Symbol.asyncDispose]: server[Symbol.asyncDispose],
    };
  }

  const long = `${"x".repeat(290)}${scriptedKey}`;
  test.each([
    ["an error that echoes it", { fault: "status", status: 400, message: `bad header x-api-key: ${scriptedKey}!` }],
    ["an error with it where the message is cut", { fault: "status", status: 500, message: long }],
    ["an error with another key", { fault: "status", status: 500, message: "use sk-ant-REALLYSECRET0123456789" }],
    ["an answer that is not JSON", { fault: "malformed", body: `${scriptedKey} is your key` }],
    ["an answer of another shape", { fault: "malformed", body: `{"content":"${scriptedKey}"}` }],
    ["an error that is another JSON", { fault: "malformed", body: `{"a": ${scriptedKey.slice(3)}}` }],
  ] as const)("never appear in an error: %s", async (_, fault) => {
    await using fake = await scripted([fault]);
    const shown = everythingOf(await failed(fake.client));
    expect(shown).not.toContain(scriptedKey.slice(0, 8));
    expect(shown).not.toContain(scriptedKey.slice(3, 9));
    expect(shown).not.toContain("REALLYSECRET");
  });

  test("never appear in an error that spells it with escapes", async () => {
    const body = `{"error":{"message":"bad key ${scriptedKey.replaceAll("-", "\\u002d")}"}}`;
    const fetch = (async () => new Response(body, { status: 400 })) as typeof globalThis.fetch;
    const error = await failed(make({ fetch }));
    expect(error.message).toContain("bad key [key]");
    expect(everythingOf(error)).not.toContain(scriptedKey.slice(0, 14));
  });

  test("never appear in the id of an answer", async () => {
    const answer = format === "anthropic" ? { content: [] } : { choices: [{ message: { content: "x" } }] };
    const fetch = (async () => new Response(JSON.stringify({ ...answer, id: scriptedKey }))) as typeof globalThis.fetch;
    expect((await make({ fetch }).complete(request, { signal })).requestId).toBe("[key]");
  });

  test("never appear in an error whose body breaks off in the middle of it", async () => {
    const half = `not JSON ${scriptedKey.slice(0, 20)}`;
    const server = createServer((_, response) => response.writeHead(500).end(half)).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const error = await failed(make({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
    server.close();
    expect(error.message).toContain("not JSON [key]");
    expect(everythingOf(error)).not.toContain(scriptedKey.slice(0, 14));
  });

  test("never appear in an answer that echoes it", async () => {
    await using fake = await scripted([`Your key is ${scriptedKey}.`]);
    expect((await fake.client.complete(request, { signal })).text).toBe("Your key is [key].");
  });

  test("never appear in errors of fetch, in the name or in the client as an object", async () => {
    const leaky: typeof fetch = async (_, init) => {
      throw new TypeError(`cannot send ${JSON.stringify(init?.headers)}`, {
        cause: Object.assign(new Error(`header: ${scriptedKey}`), { request: init }),
      });
    };
    const client = make({ fetch: leaky });
    expect(everythingOf(await failed(client))).not.toContain(scriptedKey);
    expect(everythingOf(client) + JSON.stringify(client) + client.name).not.toContain(scriptedKey);
  });

  test("are not sent on to another host by a redirect", async () => {
    await using other = await startScriptedModelServer(format, ["stolen"]);
    await using fake = await scripted([
      { fault: "status", status: 307, headers: { location: `${other.url}/v1/messages` } },
    ]);
    expect(await failed(fake.client)).toMatchObject({ details: { reason: "rejected", isRetryable: false } });
    expect(other.requests).toEqual([]);
  });
});

describe("credentials that cannot be sent", () => {
  test.each([
    ["a key with a line break in it", () => anthropicClient({ apiKey: "sk-secret\nsecret-secret" })],
    ["a key that is not ASCII", () => openAiClient({ apiKey: "sk-sécret-secret" })],
    ["a base URL with a password", () => anthropicClient({ apiKey: "k", baseUrl: "https://user:secret@example.test" })],
    ["a base URL that is none", () => openAiClient({ baseUrl: "secret.example.test" })],
  ])("%s is refused without being quoted", (_, make) => {
    const error = (() => {
      try {
        return make();
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(CodecellError);
    expect((error as Error).message + JSON.stringify(error)).not.toMatch(/s[eé]cret/);
  });

  test("a key with a line feed at its end, as files have it, is sent without it", async () => {
    await using server = await startScriptedModelServer("anthropic", ["ok"]);
    const client = anthropicClient({ apiKey: `${scriptedKey}\n`, baseUrl: server.url });
    expect((await client.complete(request, { signal })).text).toBe("ok");
  });

  test("a token in the path of the base URL is hidden in errors and in the client's name", async () => {
    const fetch = (async (url: string) =>
      new Response(`no such path: ${url}`, { status: 500 })) as typeof globalThis.fetch;
    const client = openAiClient({ baseUrl: "https://models.example.test/path-token-0123456789/v1", fetch });
    expect(everythingOf(await failed(client)) + client.name).not.toContain("path-token");
  });

  test("a secret in the query of the base URL is sent, and hidden in errors", async () => {
    const seen: string[] = [];
    const fetch = (async (url: string) => {
      seen.push(url);
      return new Response("no token query-secret-1234 here", { status: 500 });
    }) as typeof globalThis.fetch;
    const client = openAiClient({ baseUrl: "https://models.example.test/v1?token=query-secret-1234", fetch });
    const error = await failed(client);
    expect(seen).toEqual(["https://models.example.test/v1/chat/completions?token=query-secret-1234"]);
    expect(everythingOf(error) + client.name).not.toContain("query-secret");
  });
});
