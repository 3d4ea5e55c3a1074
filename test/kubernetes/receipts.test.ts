import { afterAll } from "vitest";
import { enforcedByHost, enforcedByProxy, enforcedBySupervisor, walkReceipts } from "../contract/receipts/walk.ts";
import { doubleAvailability } from "../fakes/kubernetes-api/availability.ts";
import { KubernetesApiDouble } from "../fakes/kubernetes-api/kubernetes-api-double.ts";
import { runnerOn } from "./fake-cluster.ts";

const available = await doubleAvailability();
const double = available.available ? await KubernetesApiDouble.start() : undefined;
afterAll(() => double?.[Symbol.asyncDispose]());

const kind = { directories: "none", hasNetwork: true, takesPython: false, hasTmpfs: true, cpus: 0.5 } as const;
await walkReceipts("the kubernetes runner on a fake cluster", () => runnerOn(double as KubernetesApiDouble), kind, {
  name: "kubernetes",
  probe: async (runner) => (available.available ? runner.probe({ isWanted: true }) : available),
  without: [...enforcedByHost, ...enforcedByProxy, ...enforcedBySupervisor],
});
