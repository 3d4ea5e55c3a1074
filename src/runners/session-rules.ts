import type { RuleName } from "../policy/rules.ts";
import type { Policy } from "../policy/schema.ts";
import type { EnforcedBy } from "./receipt.ts";

type SessionRule = Exclude<Extract<RuleName, `session.${string}` | `audit.${string}`>, "session.recovery">;
type Answer = { readonly by: EnforcedBy; readonly how: string };

const host = (how: string): Answer => ({ by: "host", how });

/** Rules of a session's life and of its record: whoever manages sessions holds them, whatever the isolation is. */
export const sessionRules: Readonly<Record<SessionRule, (policy: Policy) => Answer>> = {
  "session.idle": () => host("a timer of the session manager"),
  "session.lifetime": () => host("a timer of the session manager"),
  "session.limit": () => host("counted by the session manager"),
  "session.persist": ({ session }) =>
    host(
      session.persist
        ? "state directory of this user, files of mode 0600"
        : "nothing is kept on disk after the session",
    ),
  "session.checkpoints": () => host("counted by the session; the memory counts against the cell"),
  "session.pool": ({ session }) =>
    host(session.pool > 0 ? "cells of this policy only, each used once" : "no cell waits"),
  "audit.enabled": ({ audit }) =>
    host(
      audit.enabled ? "hash-chained files of mode 0600, where a state directory is used" : "nothing is written down",
    ),
  "audit.code": ({ audit }) => host(audit.code === "full" ? "text and sha256" : "sha256 alone"),
  "audit.durable": ({ audit }) =>
    host(audit.durable ? "runs start and results are given after fdatasync" : "written within milliseconds"),
  "audit.keep": () => host("whole files of a chain, oldest first; the audit says which"),
  "audit.age": () => host("whole files of a chain, oldest first; the audit says which"),
};
