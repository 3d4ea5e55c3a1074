import { kubernetesRunner } from "../../../src/runners/kubernetes/runner.ts";
import { runnerContract } from "../../../test/contract/contract.ts";

await runnerContract("the runner on pods", () => kubernetesRunner());
