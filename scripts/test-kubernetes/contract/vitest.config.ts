import { join } from "node:path";
import { defineConfig } from "vitest/config";

/** The contract of every runner, on pods of the cluster that KUBECONFIG names. Started by `npm run test:kubernetes`. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, "../../.."),
    include: ["scripts/test-kubernetes/contract/*.test.ts"],
    maxWorkers: 1,
    expect: { poll: { timeout: 30_000 } },
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 60_000,
  },
});
