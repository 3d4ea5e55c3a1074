import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    maxWorkers: availableParallelism(), // the default leaves one core idle
    globalSetup: "check-installed.ts",
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
