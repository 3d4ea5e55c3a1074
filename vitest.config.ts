import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["src/**/*.test.ts", "test/*.test.ts"], testTimeout: 20_000 } },
      {
        test: {
          name: "runtime",
          include: ["test/{contract,escape,fault,e2e}/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
