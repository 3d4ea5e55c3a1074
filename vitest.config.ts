import { defineConfig } from "vitest/config";

/** How long a test waits for what must come in the end. It ends a test that hangs, and promises nobody a speed. */
const patience = { expect: { poll: { timeout: 30_000 } } };

export default defineConfig({
  test: {
    teardownTimeout: 60_000, // container engines take their time to end
    projects: [
      {
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "test/*.test.ts"],
          ...patience,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "runtime",
          include: ["test/{contract,parity,escape,fault,e2e}/**/*.test.ts"],
          ...patience,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: "containers",
          include: ["test/containers/**/*.test.ts"],
          globalSetup: "test/containers/setup.ts",
          ...patience,
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
});
