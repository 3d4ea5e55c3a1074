import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig, type Plugin } from "vitest/config";

/** Optional peers that files of src and examples load. The root of the repository does not have them, so they are found here. */
const peers: Plugin = {
  name: "peers",
  enforce: "pre",
  resolveId(id, importer, options) {
    if (
      !/^(?:@anthropic-ai\/claude-agent-sdk|ai|deepagents|@langchain\/.+|@openai\/.+)$/.test(id) ||
      importer?.startsWith(import.meta.dirname)
    )
      return null;
    return this.resolve(id, join(import.meta.dirname, "vitest.config.ts"), { ...options, skipSelf: true });
  },
};

export default defineConfig({
  plugins: [peers],
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    maxWorkers: availableParallelism(), // the default leaves one core idle
    isolate: false, // loading the modules again for each file takes almost two seconds of CPU time
    globalSetup: ["check-installed.ts", "../support/state-homes.ts"],
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
