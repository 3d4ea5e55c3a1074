import type { Audit } from "../audit/audit.ts";
import type { EgressOptions } from "../egress/process/egress-process.ts";
import type { Logger } from "../lib/log/logger.ts";
import type { Policy, PolicyInput } from "../policy/schema.ts";
import type { SandboxRunner } from "../runners/runner.ts";
import type { PackageOptions } from "./packages/session-packages.ts";

/** Options of `Codecell.open`; everything has a default. */
export interface CodecellOptions {
  /** a policy file, its content as an object, or a parsed policy; default: the strictest policy */
  readonly policy?: string | PolicyInput | Policy;
  /** runners to choose from; owned by the codecell. Default: every built-in one */
  readonly runners?: readonly SandboxRunner[];
  /** default: the user's state directory */
  readonly stateDir?: string;
  /** default: the user's runtime directory */
  readonly runtimeDir?: string;
  readonly logger?: Logger;
  /** where events are recorded; owned by the codecell. Default: the audit that the policy asks for, in the state directory */
  readonly audit?: Audit;
  /** how the egress proxy is set up, where the policy opens the network */
  readonly egress?: EgressOptions;
  /** what this program lets code in its cells reach through functions of the host, for the receipt; default: nothing */
  readonly hostCalls?: { readonly models?: boolean; readonly tools?: boolean };
  /** @internal about the packages of `kernel.packages`: progress, offline use */
  readonly packages?: PackageOptions;
  /** @internal wall-clock milliseconds */
  readonly now?: () => number;
  /** @internal the command that holds the sessions, for `codecell ps`; absent: a program that uses the library */
  readonly heldBy?: string;
  /** @internal files stay in the cell, where the OS limits them, because nobody reads them on the host */
  readonly filesStayInCell?: boolean;
}
