import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

/** Optional peers that files of src load: the root of the repository does not have them. */
const peers = ["@langchain/core", "@openai/agents"];

export default defineConfig({
  resolve: {
    alias: Object.fromEntries(peers.map((name) => [name, join(import.meta.dirname, "node_modules", name)])),
  },
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    maxWorkers: availableParallelism(), // the default leaves one core idle
    globalSetup: "check-installed.ts",
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
