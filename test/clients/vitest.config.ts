import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

/** Optional peers of the sources, which are installed here only. */
const peers = {
  "@anthropic-ai/claude-agent-sdk": "node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs",
};

export default defineConfig({
  resolve: {
    alias: Object.entries(peers).map(([name, file]) => ({
      ...{ find: new RegExp(`^${name}$`), replacement: join(import.meta.dirname, file) },
    })),
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
