import type { OptionTable } from "../shell/arguments.ts";

/** Options that change the policy for one call. */
export const policyOptions = {
  policy: {
    type: "string",
    value: "FILE",
    help: "Policy file. Default: ./sandbox.policy.yaml, else the tightest policy.",
  },
  runner: { type: "string", value: "NAME", help: "Isolation to use: auto, process, wasm …" },
  timeout: { type: "string", value: "10s", help: "Limit of one run." },
  memory: { type: "string", value: "512MiB", help: "Memory of the whole cell." },
  mount: {
    type: "string",
    multiple: true,
    value: "SRC:DST[:rw]",
    help: "Host path to show inside, read-only unless :rw. Repeatable.",
  },
  workspace: {
    type: "string",
    value: "DIR",
    help: "Host directory at /workspace, read-write. Default: a fresh private one.",
  },
} as const satisfies OptionTable;

export interface PolicyFlags {
  readonly policy?: string | undefined;
  readonly runner?: string | undefined;
  readonly timeout?: string | undefined;
  readonly memory?: string | undefined;
  readonly mount?: string[] | undefined;
  readonly workspace?: string | undefined;
}
