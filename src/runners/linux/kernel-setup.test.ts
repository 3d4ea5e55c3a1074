import { expect, test } from "vitest";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import { linuxKernelSetup } from "./kernel-setup.ts";

test("a runner's variables override the shared ones, and the policy's variables override both", () => {
  const policy = parsePolicy({ env: { LANG: "de_DE.UTF-8", OPENBLAS_NUM_THREADS: "4" } });
  const { env } = linuxKernelSetup(policy, { path: [], env: { HOME: "/work", OPENBLAS_NUM_THREADS: "2" } });
  expect(env).toMatchObject({ HOME: "/work", LANG: "de_DE.UTF-8", OPENBLAS_NUM_THREADS: "4" });
});

test("a runner's own limits and import directories are passed on, and the rest comes from the policy", () => {
  const policy = parsePolicy({
    proc: { background: true },
    session: { recovery: "off" },
    kernel: { preload: ["json"] },
  });
  expect(linuxKernelSetup(policy, { path: ["/lib"], watchMemoryBytes: 7, watchProcesses: 8 })).toEqual({
    ...{ path: ["/lib"], watchMemoryBytes: 7, watchProcesses: 8, env: expect.any(Object) },
    ...{ preload: ["json"], background: true, recovery: false },
  });
  expect(linuxKernelSetup(policy, { path: [] })).not.toHaveProperty("watchMemoryBytes");
});
