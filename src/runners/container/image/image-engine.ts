import { Cleanup } from "../../../lib/cleanup.ts";
import { CodecellError } from "../../../lib/errors.ts";
import { addressFacts, type EngineKind, engineAddresses } from "../engine/engine-address.ts";
import type { EngineClient } from "../engine/engine-client.ts";
import { EngineFinder } from "../engine/engine-finder.ts";

/** The engine that images are built in. Disposing it stops a Podman that codecell started. */
export interface ImageEngine extends AsyncDisposable {
  readonly client: EngineClient;
}

/** Finds the engine as the runner does, and may start Podman. The error lists every address that was tried. */
export async function imageEngine(
  env: Readonly<Record<string, string | undefined>>,
  kind?: EngineKind,
): Promise<ImageEngine> {
  await using cleanup = new Cleanup();
  const addresses = addressFacts({ ...env });
  const options = { addresses, keepsPodman: true, ...(kind ? { engine: kind } : {}) };
  const finder = new EngineFinder(options, false, cleanup);
  const found = await finder.find({ isWanted: true });
  if (found.available) {
    const owned = cleanup.move();
    return { client: found.engine.client, [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose]() };
  }
  const tried = (await engineAddresses(addresses)).filter((address) => kind === undefined || address.kind === kind);
  const addressList = tried.map(({ shown, from }) => `${shown} (${from})`).join(", ");
  const suffix = addressList === "" ? "" : `; tried ${addressList}`;
  throw new CodecellError("runner_unavailable", `${found.reason}${suffix}`, { hint: found.hint });
}
