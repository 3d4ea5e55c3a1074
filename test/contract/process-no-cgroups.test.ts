import { processRunner } from "../../src/runners/process/runner.ts";
import { runnerContract } from "./contract.ts";

await runnerContract("process runner without control groups", () => processRunner({ cgroups: false }));
