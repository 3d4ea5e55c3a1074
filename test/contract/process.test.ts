import { processRunner } from "../../src/runners/process/runner.ts";
import { runnerContract } from "./contract.ts";

await runnerContract("process runner, template layout", () => processRunner({ layout: "template" }));
