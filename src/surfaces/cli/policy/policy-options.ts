import type { OptionTable } from "../shell/arguments.ts";

/** Options that change the policy for one call. */
export const policyOptions = {
  policy: {
    type: "string",
    value: "FILE",
    help: "Policy file. Default: ./sandbox.policy.yaml, else the strictest policy.",
  },
  runner: { type: "string", value: "NAME", help: "Runner to use: auto, process, wasm …" },
  timeout: { type: "string", value: "10s", help: "Timeout of one run." },
  memory: { type: "string", value: "512MiB", help: "Memory limit of the whole cell." },
  "output-limit": {
    type: "string",
    value: "1MiB",
    help: "Output of one run. Of more, the beginning and the end are kept.",
  },
  mount: {
    type: "string",
    multiple: true,
    value: "SRC:DST[:rw]",
    help: "Mount a host path, read-only unless :rw. Repeatable.",
  },
  workspace: {
    type: "string",
    value: "DIR",
    help: "Host directory to mount at /workspace, read-write. Default: a new private one.",
  },
} as const satisfies OptionTable;

export interface PolicyFlags {
  readonly policy?: string | undefined;
  readonly runner?: string | undefined;
  readonly timeout?: string | undefined;
  readonly memory?: string | undefined;
  readonly "output-limit"?: string | undefined;
  readonly mount?: string[] | undefined;
  readonly workspace?: string | undefined;
  /** the directory of `run --project`, as an absolute path */
  readonly projectDir?: string | undefined;
}
