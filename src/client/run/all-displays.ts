import type { DisplayEvent } from "../../sessions/runs/run.ts";
import type { Transport } from "../http/transport.ts";
import type { DecodedDisplay, RemoteRunResult } from "../wire/decode-run.ts";
import { followRun } from "./follow-run.ts";

/** The result with the displays that were too large for it, which the events have. */
export async function withAllDisplays(
  { result, displays }: { readonly result: RemoteRunResult; readonly displays: readonly DecodedDisplay[] },
  transport: Transport,
  path: string,
): Promise<RemoteRunResult> {
  if (!displays.some(({ isMissing }) => isMissing)) return result;
  const found: DisplayEvent[] = [];
  let room = transport.maxResponseBytes;
  for await (const one of followRun(transport, { path, fromOffset: 0 })) {
    if (one.kind !== "event" || one.event.type !== "display") continue;
    room -= one.event.data.byteLength;
    if (room < 0 || found.length === displays.length) break;
    found.push(one.event);
  }
  const notes = room < 0 ? ["some displays were not downloaded: they exceed `maxResponseBytes` of connect()"] : [];
  return {
    ...result,
    displays: displays.map(({ event }, index) => found[index] ?? event),
    notes: [...result.notes, ...notes],
  };
}
