/**
 * `fetch` for a server that is not trusted: a response that is longer than this fails. No stream of notifications is
 * opened: it would have no end, and a connection reads the list of tools when it starts.
 */
export function boundedFetch(maxBytes: number): (input: string | URL, init?: RequestInit) => Promise<Response> {
  return async (input, init) => {
    if ((init?.method ?? "GET") === "GET") return new Response(null, { status: 405 });
    const response = await fetch(input, init);
    if (response.body === null) return response;
    let read = 0;
    const bounded = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          read += chunk.byteLength;
          if (read <= maxBytes) controller.enqueue(chunk);
          else controller.error(new Error(`the response has more than ${maxBytes} bytes`));
        },
      }),
    );
    const { status, statusText, headers } = response;
    return new Response(bounded, { status, statusText, headers });
  };
}
