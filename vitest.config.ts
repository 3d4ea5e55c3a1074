import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    teardownTimeout: 60_000, // container engines take their time to end
    projects: [
      { test: { name: "unit", include: ["src/**/*.test.ts", "test/*.test.ts"], testTimeout: 20_000 } },
      {
        test: {
          name: "runtime",
          include: ["test/{contract,parity,escape,fault,e2e}/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "containers",
          include: ["test/containers/**/*.test.ts"],
          globalSetup: "test/containers/setup.ts",
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
