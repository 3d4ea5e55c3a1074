import { afterAll } from "vitest";
import { runnerContract } from "../contract/contract.ts";
import { doubleAvailability } from "../fakes/kubernetes-api/availability.ts";
import { KubernetesApiDouble } from "../fakes/kubernetes-api/kubernetes-api-double.ts";
import { runnerOn } from "./fake-cluster.ts";

const available = await doubleAvailability();
const double = available.available ? await KubernetesApiDouble.start() : undefined;
afterAll(() => double?.[Symbol.asyncDispose]());

await runnerContract("the kubernetes runner on a fake cluster", () => runnerOn(double as KubernetesApiDouble), {
  name: "kubernetes",
  probe: async (runner) => (available.available ? runner.probe({ isWanted: true }) : available),
});
