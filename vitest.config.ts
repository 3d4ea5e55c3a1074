import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** How long a test waits for what must come in the end. It ends a test that hangs, and promises nobody a speed. */
const patience = { expect: { poll: { timeout: 30_000 } } };
const cores = availableParallelism();
/**
 * Loading the modules again for each file costs a second of CPU time, and support modules probe every runner. Files leave no
 * module state, environment variable or global changed.
 */
const shared = { isolate: false };
/** One pass of each runner's contract: what `npm test` asks of real runtimes. */
const contracts = ["test/contract/{process,srt,wasm}.test.ts"];
const stateHomes = "test/support/state-homes.ts";
/** They start a Docker of their own, with an image made of this machine's Python, to end or stop it. */
const ownDocker = ["test/containers/{faults,sessions,service-image}.test.ts"];

export default defineConfig({
  test: {
    teardownTimeout: 60_000, // container engines take their time to end
    maxWorkers: cores, // the default leaves one core idle, which on two cores is half of them
    projects: [
      {
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "dashboard/src/**/*.test.ts", "test/*.test.ts", "test/fuzz/*.test.ts"],
          globalSetup: stateHomes,
          ...shared,
          ...patience,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "contract",
          // here container runners use the machine's own engines, where those have the image
          include: [...contracts, "test/containers/contract.test.ts"],
          ...shared,
          ...patience,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: "runtime",
          include: ["test/{contract,parity,escape,fault,e2e,cpython,store}/**/*.test.ts"],
          exclude: contracts,
          globalSetup: stateHomes,
          ...shared,
          ...patience,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          // several gateways with one PostgreSQL; some are killed or stopped, so leases must not end for lack of CPU time
          name: "gateways",
          include: ["test/gateways/**/*.test.ts"],
          globalSetup: stateHomes,
          maxWorkers: 1,
          ...shared,
          ...patience,
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          // the dashboard in a real Chromium
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          globalSetup: stateHomes,
          maxWorkers: 1,
          ...shared,
          ...patience,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          // pods of a fake API server, which are process trees of this machine
          name: "kubernetes",
          include: ["test/kubernetes/**/*.test.ts"],
          globalSetup: stateHomes,
          ...shared,
          ...patience,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "own-engines",
          include: ownDocker,
          globalSetup: stateHomes,
          ...shared,
          ...patience,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: "containers",
          include: ["test/containers/**/*.test.ts"],
          exclude: ownDocker,
          globalSetup: [stateHomes, "test/containers/setup.ts"],
          maxWorkers: 1,
          ...shared,
          ...patience,
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
});
