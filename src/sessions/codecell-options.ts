import type { Audit } from "../audit/audit.ts";
import type { EgressOptions } from "../egress/process/egress-process.ts";
import type { Logger } from "../lib/log/logger.ts";
import { ruleNames } from "../policy/rules.ts";
import type { Policy, PolicyInput } from "../policy/schema.ts";
import type { SandboxRunner } from "../runners/runner.ts";
import type { Database } from "../store/postgres/database.ts";
import type { SessionOwners } from "../store/postgres/session-owner.ts";
import { checkOptions } from "./caller-arguments.ts";
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
  /**
   * the URL of a PostgreSQL database that keeps persistent sessions, for several machines: `postgres://user@host/database`.
   * Needs the package `pg`. Default: files in the state directory.
   */
  readonly database?: string;
  /** @internal the same database, already open; it is not closed */
  readonly openedDatabase?: Database;
  readonly logger?: Logger;
  /** where events are recorded; owned by the codecell. Default: the audit that the policy asks for, in the state directory */
  readonly audit?: Audit;
  /** how the egress proxy is set up, where the policy opens the network */
  readonly egress?: EgressOptions;
  /** what this program lets code in its cells reach through functions of the host, for the receipt; default: nothing */
  readonly hostCalls?: { readonly models?: boolean; readonly tools?: boolean };
  /** @internal about the packages of `kernel.packages`: progress, offline use */
  readonly packages?: PackageOptions;
  /** @internal who has which session of the database; owned by the codecell. Default: processes that are connected to it */
  readonly owners?: SessionOwners;
  /** @internal wall-clock milliseconds */
  readonly now?: () => number;
  /** @internal events can be observed also if no audit is written */
  readonly isObservable?: boolean;
  /** @internal the command that holds the sessions, for `codecell ps`; absent: a program that uses the library */
  readonly heldBy?: string;
  /**
   * @internal files stay in the cell, where the OS limits them: nobody reads them on the host, or they have to move with the
   * session. Default: for persistent sessions of a database
   */
  readonly filesStayInCell?: boolean;
}

const names = {
  ...{
    policy: true,
    runners: true,
    stateDir: true,
    runtimeDir: true,
    database: true,
    openedDatabase: true,
    logger: true,
  },
  ...{ audit: true, egress: true, hostCalls: true, packages: true, owners: true, now: true, isObservable: true },
  ...{ heldBy: true, filesStayInCell: true },
} as const satisfies Record<keyof CodecellOptions, true>;

/** Refuses options that nobody reads, such as `net` beside `policy`. */
export function checkCodecellOptions(options: unknown): void {
  checkOptions(options, "Codecell.open", names, (name) => {
    if (name === "runner") return "name it in the policy: { policy: { isolation: { runner: … } } }";
    const isSection = ruleNames.some((rule) => rule === name || rule.startsWith(`${name}.`));
    return isSection ? `put it into the policy: { policy: { ${name}: … } }` : undefined;
  });
}

/** Whether sessions get no directory of this machine. Those of a database may go on at another one, with their files. */
export function keepsFilesInCell(options: CodecellOptions, { session }: Policy): boolean {
  return options.filesStayInCell ?? (isShared(options) && session.persist);
}

/** Whether the sessions are in a database, which other machines use too. */
export function isShared(options: CodecellOptions): boolean {
  return options.database !== undefined || options.openedDatabase !== undefined;
}
