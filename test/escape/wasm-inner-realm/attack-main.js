import { dirname } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { threadOptions } from "./thread-options.js";

const runtime = dirname(dirname(fileURLToPath(import.meta.url)));
const worker = new Worker(new URL("./attack-thread.js", import.meta.url), {
  workerData: { runtime, memoryPages: 8192, diskBytes: 2 ** 20, openFiles: 64 },
  ...threadOptions,
});
worker.on("message", (message) => {
  process.stdout.write(JSON.stringify(message), () => process.exit(0));
});
worker.on("exit", (code) => process.exit(code === 0 ? 3 : code));
