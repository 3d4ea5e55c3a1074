/** Entry of the cell's process: the supervisor, on the main thread. */
import { writeSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { Supervisor, type SupervisorOptions } from "./supervisor.ts";

const settings = JSON.parse(process.argv[2] ?? "{}") as Omit<SupervisorOptions, "runtime" | "log">;
const log = (line: string) => {
  try {
    writeSync(2, `${line.slice(0, 4000)}\n`);
  } catch {
    // the reader of the log has closed it
  }
};

process.on("uncaughtException", (error) => {
  log(`supervisor failed: ${error.stack ?? error.message}`);
  process.exit(71);
});
new Supervisor({ ...settings, runtime: dirname(dirname(fileURLToPath(import.meta.url))), log });
