import { useEffect, useState } from "preact/hooks";
import type { StatisticsSample } from "../../../src/service/wire/statistics.ts";
import { getJson } from "../api/client.ts";
import { type Loaded, useLoad } from "../parts/load/use-load.ts";
import { isAdmin, onEvent } from "../state/service.ts";
import { type Statistics, withSample } from "./statistics.ts";

/** The last hour of the service, and what follows. Tenants are counted again every few samples. */
export function useStatistics(): { readonly loaded: Loaded<Statistics>; readonly reload: () => void } {
  const query = isAdmin.value ? "?namespaces=all" : "";
  const [later, setLater] = useState<readonly StatisticsSample[]>([]);
  const { loaded, reload } = useLoad((signal) => getJson<Statistics>(`/v1/statistics${query}`, { signal }), [query]);
  useEffect(() => {
    let count = 0;
    return onEvent((event) => {
      if (event.type !== "statistics") return;
      const { sample } = event as unknown as { sample: StatisticsSample };
      setLater((before) => withSample(before, sample));
      if (++count % 6 === 0) reload();
    });
  }, []);
  if (loaded.state !== "ready") return { loaded, reload };
  const samples = later.reduce(withSample, loaded.value.samples);
  return { loaded: { state: "ready", value: { ...loaded.value, samples } }, reload };
}
