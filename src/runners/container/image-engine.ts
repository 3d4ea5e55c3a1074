import { CodecellError } from "../../lib/errors.ts";
import { findEngine } from "./engine.ts";
import { addressFacts, type EngineKind, engineAddresses } from "./engine-address.ts";
import type { EngineClient } from "./engine-client.ts";

/** The engine that images are for; the error names every place that was asked. */
export async function imageEngine(
  env: Readonly<Record<string, string | undefined>>,
  kind?: EngineKind,
): Promise<EngineClient> {
  const facts = addressFacts({ ...env });
  const asked = await findEngine(facts, kind);
  if (asked.available) return asked.engine.client;
  const addresses = (await engineAddresses(facts)).filter((address) => kind === undefined || address.kind === kind);
  const places = addresses.map(({ shown, from }) => `${shown} (${from})`).join(", ");
  const tried =
    places === "" ? "the address that is set is none we can speak to: unix:// or tcp://" : `asked ${places}`;
  throw new CodecellError("runner_unavailable", `${asked.reason}; ${tried}`, { hint: asked.hint });
}
