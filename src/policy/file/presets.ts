import type { PolicyInput } from "../schema.ts";

/** Policies to start from, by the job they are for. */
export const presets = {
  /** the empty policy: nothing of the host, no network, small limits */
  strict: {},
  /** tables and plots: the usual libraries ready, and room for data */
  "data-analysis": {
    proc: { timeout: "5m", memory: "2GiB", disk: "1GiB" },
    kernel: { preload: ["numpy", "pandas", "matplotlib"] },
  },
} as const satisfies Record<string, PolicyInput>;

export type PresetName = keyof typeof presets;
export const presetNames = Object.keys(presets) as PresetName[];
