import { CodecellError } from "../../lib/errors.ts";
import { parseJson } from "../../lib/json/parse-json.ts";
import type { WireRunEvent } from "../../service/wire/runs/run-event.ts";
import type { RunEvent } from "../../sessions/runs/run.ts";
import type { ServerEvent } from "../http/server-events.ts";
import { failureIn, serviceError } from "../http/service-error.ts";
import { decodeDisplay } from "./decode-run.ts";
import { Fields } from "./fields.ts";

/** An event of a run, as a service sends it. */
export type RemoteEvent =
  | { readonly kind: "run"; readonly runId: string }
  | { readonly kind: "event"; readonly offset: number; readonly event: RunEvent }
  /** not decoded yet: most readers of events do not need it */
  | { readonly kind: "result"; readonly run: unknown }
  | { readonly kind: "error"; readonly error: CodecellError };

/** Undefined for a type that this client does not know. */
export function decodeEvent({ data }: ServerEvent): RemoteEvent | undefined {
  const value = parsed(data);
  const event = new Fields(value, "an event");
  const type = event.text("type") as WireRunEvent["type"];
  switch (type) {
    case "run":
      return { kind: "run", runId: event.text("run_id") };
    case "stdout":
    case "stderr":
      return { kind: "event", offset: event.count("offset"), event: { type, text: event.text("text") } };
    case "display": {
      const display = decodeDisplay(value, "an event");
      return { kind: "event", offset: event.count("offset"), event: display.event };
    }
    case "result":
      return { kind: "result", run: event.any("run") };
    case "error": {
      const failure = failureIn({ error: event.any("error") });
      const unknown = { code: "internal", message: "the service could not finish the run" };
      return { kind: "error", error: serviceError(failure ?? unknown) };
    }
  }
  return undefined;
}

function parsed(data: string): unknown {
  try {
    return parseJson(data);
  } catch (cause) {
    throw new CodecellError("service_unavailable", "the service sent an event that is not JSON", {
      cause,
      details: { status: 200 },
    });
  }
}
