import type { PolicyInput } from "../schema.ts";

/** Policies to start from, named for their purpose. */
export const presets = {
  /** the empty policy: no host files, no network, small limits */
  strict: {},
  /** tables and plots: the usual libraries are preloaded, and the limits are larger */
  "data-analysis": {
    proc: { timeout: "5m", memory: "2GiB", disk: "1GiB" },
    kernel: { preload: ["numpy", "pandas", "matplotlib"] },
  },
} as const satisfies Record<string, PolicyInput>;

export type PresetName = keyof typeof presets;
export const presetNames = Object.keys(presets) as PresetName[];
