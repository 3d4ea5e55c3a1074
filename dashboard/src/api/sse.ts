/** One server-sent event. */
export interface ServerEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** Reads server-sent events from a response. `EventSource` cannot send a token, so the page reads them itself. */
export async function* readEvents(response: Response): AsyncGenerator<ServerEvent> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      let from = Math.max(0, rest.length - 1); // an event of many megabytes is not searched again with every piece
      rest += value;
      let start = 0;
      for (let end = rest.indexOf("\n\n", from); end !== -1; end = rest.indexOf("\n\n", from)) {
        const event = parseBlock(rest.slice(start, end));
        from = end + 2;
        start = from;
        if (event) yield event;
      }
      rest = rest.slice(start);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Pure: the lines of one event; undefined for a comment, such as a heartbeat. */
export function parseBlock(block: string): ServerEvent | undefined {
  let id: string | undefined;
  let event = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const [field, value] = fieldOf(line);
    if (field === "id") id = value;
    else if (field === "event") event = value;
    else if (field === "data") data.push(value);
  }
  return data.length === 0 ? undefined : { id, event, data: data.join("\n") };
}

function fieldOf(line: string): [string, string] {
  const at = line.indexOf(":");
  return at === -1 ? [line, ""] : [line.slice(0, at), line.slice(at + 1).replace(/^ /, "")];
}
