import type { Page } from "playwright-core";

/** What the fake answers: by path, or by a function of it. */
export type Answers = Readonly<Record<string, unknown>> | ((pathname: string) => unknown);

/**
 * Answers the page's calls of `/v1/` itself, for what real cells cannot show in the time of a test: 500 sessions, or hostile text
 * in every field. The page, its policy and its code are those of the real service.
 */
export async function fakeApi(page: Page, answers: Answers): Promise<void> {
  await page.addInitScript(fakeEvents);
  await page.route("**/v1/**", async (route) => {
    const { pathname } = new URL(route.request().url());
    const answer = typeof answers === "function" ? answers(pathname) : answers[pathname];
    if (answer === undefined) {
      const error = { code: "not_found", message: `the fake does not answer ${pathname}` };
      await route.fulfill({ status: 404, json: { error } });
      return;
    }
    if (answer instanceof FakeFile) {
      await route.fulfill({ body: answer.body, contentType: answer.contentType, headers: answer.headers });
    } else await route.fulfill({ json: answer });
  });
}

/** An answer that is not JSON. */
export class FakeFile {
  readonly body: Buffer | string;
  readonly contentType: string;
  readonly headers: Record<string, string>;

  constructor(body: Buffer | string, contentType: string, headers: Record<string, string> = {}) {
    this.body = body;
    this.contentType = contentType;
    this.headers = headers;
  }
}

/** Sends an event to the page, as the service would, and gives the page's time until it was painted, in milliseconds. */
export function sendEvent(page: Page, event: object): Promise<number> {
  return page.evaluate(`new Promise((painted) => {
    const start = performance.now();
    sendFakeEvent(${JSON.stringify(event)});
    requestAnimationFrame(() => setTimeout(() => painted(performance.now() - start)));
  })`);
}

/** In the page: playwright cannot answer a request bit by bit, so the stream of events is made here. */
const fakeEvents = `{
  const real = window.fetch;
  const streams = new Set();
  let number = 0;
  window.sendFakeEvent = (event) => {
    number++;
    const data = JSON.stringify({ id: "e000000000000-" + number, time: new Date().toISOString(), session_id: null, ...event });
    const text = "id: e000000000000-" + number + "\\nevent: " + event.type + "\\ndata: " + data + "\\n\\n";
    for (const stream of streams) stream.enqueue(new TextEncoder().encode(text));
  };
  window.fetch = (input, init) => {
    if (typeof input !== "string" || !input.startsWith("/v1/events")) return real(input, init);
    let own;
    const body = new ReadableStream({
      start: (stream) => { own = stream; streams.add(stream); },
      cancel: () => streams.delete(own),
    });
    init?.signal?.addEventListener("abort", () => {
      if (streams.delete(own)) own.error(new DOMException("aborted", "AbortError"));
    });
    return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  };
}`;
