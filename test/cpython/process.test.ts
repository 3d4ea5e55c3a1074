import { processRunner } from "../../src/runners/process/runner.ts";
import { skipsProcess } from "../support/process-cells.ts";
import { modules } from "./modules.ts";
import { describeCpython } from "./suite.ts";

await describeCpython({
  kind: "process",
  title: "a process cell",
  prepare: async () => () => processRunner(),
  modules,
  isMissing: skipsProcess,
});
