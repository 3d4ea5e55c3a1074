import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse, request as send } from "node:http";
import { type AddressInfo, connect, createServer as createTcp } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { forwardedHeader } from "../../../service/gateways/peer-signature.ts";
import { errorReply } from "../answers/error-status.ts";
import { forwardRequest } from "./forward-request.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function listening(handler: Handler): Promise<string> {
  const server = createServer(handler);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A gateway that passes everything on to `peer`. */
function forwardingTo(url: string, options: { body?: Uint8Array; signal?: AbortSignal } = {}): Promise<string> {
  return listening((request, response) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const signal = options.signal ?? gone.signal;
    const peer = { id: "g-2", url };
    forwardRequest(request, response, peer, { signature: "signed", connectMs: 500, ...options, signal }).catch(
      (error) => {
        if (response.headersSent) return response.destroy();
        const { status, headers, body } = errorReply(error);
        response.writeHead(status, headers).end(JSON.stringify(body));
      },
    );
  });
}

describe("a request that is passed on", () => {
  test("keeps method, path, body and the client's headers, but no header of the connection and none of ours", async () => {
    const seen: { method?: string; url?: string; headers?: IncomingMessage["headers"]; body?: string } = {};
    const peer = await listening(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      Object.assign(seen, { method: request.method, url: request.url, headers: request.headers });
      seen.body = Buffer.concat(chunks).toString();
      response.writeHead(201, { "x-own": "1", "keep-alive": "timeout=9", location: "/there" }).end("done");
    });
    const response = await fetch(`${await forwardingTo(peer)}/v1/sessions/a%2Fb/runs?x=1`, {
      method: "POST",
      body: "code",
      headers: { authorization: "Bearer t", [forwardedHeader]: "forged", "x-codecell-other": "1", te: "trailers" },
    });
    expect([response.status, await response.text()]).toEqual([201, "done"]);
    expect([response.headers.get("x-own"), response.headers.get("location")]).toEqual(["1", "/there"]);
    expect(seen).toMatchObject({ method: "POST", url: "/v1/sessions/a%2Fb/runs?x=1", body: "code" });
    expect(seen.headers).toMatchObject({ authorization: "Bearer t", host: peer.slice(7), [forwardedHeader]: "signed" });
    expect(Object.keys(seen.headers ?? {})).not.toEqual(expect.arrayContaining(["te"]));
    expect(seen.headers?.["x-codecell-other"]).toBeUndefined();
  });

  test("has no body if no route would read it, so that a client cannot keep it open with one that never comes", async () => {
    const seen: IncomingMessage["headers"][] = [];
    const peer = await listening((request, response) => {
      seen.push(request.headers);
      request.resume().once("end", () => response.end("answered"));
    });
    const gateway = new URL(await forwardingTo(peer));
    for (const announced of ["Content-Length: 1", "Transfer-Encoding: chunked"]) {
      const socket = connect(Number(gateway.port), gateway.hostname);
      onTestFinished(() => void socket.destroy());
      socket.write(`GET / HTTP/1.1\r\nHost: x\r\n${announced}\r\n\r\n`);
      let answer = "";
      for await (const chunk of socket) {
        answer += chunk;
        if (answer.includes("answered")) break;
      }
      expect(answer).toMatch(/^HTTP\/1.1 200[\s\S]*answered/);
    }
    expect(seen.map((headers) => headers["content-length"] ?? headers["transfer-encoding"])).toEqual([
      undefined,
      undefined,
    ]);
  });

  test("is sent with a body that was read already, and its length", async () => {
    const peer = await listening(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      response.end(`${request.headers["content-length"]} ${Buffer.concat(chunks)}`);
    });
    const url = await forwardingTo(peer, { body: Buffer.from("{}") });
    expect(await (await fetch(url, { method: "POST", body: '{ "spaces": 1 }' })).text()).toBe("2 {}");
  });

  test("streams a body of unknown length, and its response, while both are still being sent", async () => {
    const peer = await listening((request, response) => void request.pipe(response));
    const request = send(await forwardingTo(peer), { method: "PUT" });
    request.write("first");
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const [first] = await once(response, "data");
    expect(String(first)).toBe("first");
    request.end("second");
    const [second] = await once(response, "data");
    expect(String(second)).toBe("second");
  });

  test("goes at the speed of the reader: a client that does not read stops the peer", async () => {
    const piece = randomBytes(64 * 1024);
    let written = 0;
    const peer = await listening((_, response) => {
      const more = () => {
        while (written < 500 && response.write(piece)) written++;
        written++;
      };
      response.on("drain", more);
      more();
    });
    const request = send(await forwardingTo(peer)).end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.pause();
    let before = -1;
    await vi.waitUntil(
      () => {
        const isStill = before === written;
        before = written;
        return isStill;
      },
      { interval: 200, timeout: 10_000 },
    );
    expect(written * piece.byteLength).toBeLessThan(20 * 1024 * 1024);
    request.destroy();
  });

  test("ends at the peer when the client disconnects", async () => {
    const ended = withResolvers();
    const arrived = withResolvers();
    const peer = await listening((_, response) => {
      response.once("close", () => ended.resolve());
      response.write("event\n\n");
      arrived.resolve();
    });
    const request = send(await forwardingTo(peer)).end();
    request.on("error", () => {});
    await arrived.promise;
    await once(request, "response");
    request.destroy();
    await ended.promise;
  });

  test("ends at the client when the peer dies in the middle: a cut response does not look complete", async () => {
    const peer = await listening((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("event\n\n");
      setImmediate(() => response.socket?.resetAndDestroy());
    });
    const response = await fetch(await forwardingTo(peer));
    await expect(response.text()).rejects.toThrow();
  });

  test("is answered with 503, the reason and Retry-After if the peer cannot be reached", async () => {
    const closed = createTcp().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port } = closed.address() as AddressInfo;
    closed.close();
    const response = await fetch(await forwardingTo(`http://127.0.0.1:${port}`));
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await response.text()).toContain("gateway g-2, which has this session, did not answer: ECONNREFUSED");
  });

  test("is answered with 503 if the peer closes the connection without an answer", async () => {
    const peer = await listening((request) => request.socket.destroy());
    expect((await fetch(await forwardingTo(peer))).status).toBe(503);
  });

  test("brings an early refusal of the peer back to a client that is still sending", async () => {
    const peer = await listening((request, response) => {
      // as a gateway does: the response first, then it reads and drops what still comes
      response.writeHead(413, { connection: "close" }).write("too large");
      request.once("close", () => response.end()).resume();
    });
    const request = send(await forwardingTo(peer), { method: "PUT" });
    request.on("error", () => {});
    request.write(Buffer.alloc(1024 * 1024));
    const [response] = (await once(request, "response")) as [IncomingMessage];
    expect(response.statusCode).toBe(413);
    request.end();
  });

  test("does not reach the peer if it was aborted before", async () => {
    const peer = await listening(() => expect.unreachable());
    expect((await fetch(await forwardingTo(peer, { signal: AbortSignal.abort() }))).status).toBe(503);
  });

  test("ends if the client left before the response arrived", async () => {
    const peer = await listening((_, response) => void response.end("done"));
    const { promise, resolve } = withResolvers();
    const gateway = await listening((request, response) => {
      response.once("close", () => {
        const options = { signature: "signed", connectMs: 500, signal: new AbortController().signal };
        void forwardRequest(request, response, { id: "g-2", url: peer }, options).then(resolve, resolve);
      });
      request.socket.destroy();
    });
    await expect(fetch(gateway)).rejects.toThrow();
    await promise;
  });

  test.each([
    ["GET", "no body"],
    ["PUT", "the whole body"],
  ])(
    "stays one request if a client that sends %s names Content-Length in Connection, to hide a second one in the body",
    async (method, passed) => {
      const seen: string[] = [];
      const peer = await listening(async (request, response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk);
        seen.push(`${request.method} ${request.url} ${Buffer.concat(chunks).length}`);
        response.end("done");
      });
      const { hostname, port } = new URL(await forwardingTo(peer));
      const hidden = "GET /hidden HTTP/1.1\r\nHost: peer\r\n\r\n";
      const client = connect(Number(port), hostname);
      onTestFinished(() => void client.destroy());
      client.write(
        `${method} /shown HTTP/1.1\r\nHost: a\r\nConnection: close, content-length\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
      );
      client.resume();
      await once(client, "close");
      expect(seen).toEqual([`${method} /shown ${passed === "no body" ? 0 : hidden.length}`]);
    },
  );
});

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
