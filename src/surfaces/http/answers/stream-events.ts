import type { ServerResponse } from "node:http";
import { firstSignal } from "../../../lib/waiting/first-signal.ts";
import type { EventReader } from "../../../service/events/event-reader.ts";
import type { Tenant } from "../../../service/tenants/tenant.ts";
import type { Reply } from "../route.ts";
import type { HttpService } from "../service.ts";
import { EventStream } from "./sse.ts";

/** Streams events until the client leaves, its token ends, the service stops, or another gateway has the only session. */
export function streamEvents(
  open: () => EventReader,
  { service, tenant }: { readonly service: HttpService; readonly tenant: Tenant },
): Reply {
  const send = async (response: ServerResponse, signal: AbortSignal) => {
    using stream = new EventStream(response, service.limits);
    using ending = firstSignal(signal, service.draining, tenant.ended);
    using reader = open();
    await stream.sendPosition(reader.position);
    for (let events = await reader.next(ending.signal); events.length > 0; events = await reader.next(ending.signal)) {
      for (const { id, type, data } of events) await stream.send(type, data, id);
    }
    response.end();
  };
  return { send };
}
