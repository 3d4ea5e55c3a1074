import type { RuleName } from "../policy/rules.ts";
import type { Policy } from "../policy/schema.ts";
import { byHost, type Held } from "./answer-rules.ts";

type SessionRule = Exclude<Extract<RuleName, `session.${string}` | `audit.${string}`>, "session.recovery">;

/** Rules of a session's life and of its record: whoever manages sessions holds them, whatever the isolation is. */
export const sessionRules: Readonly<Record<SessionRule, (policy: Policy) => Held>> = {
  "session.idle": () => byHost("a timer of the session manager"),
  "session.lifetime": () => byHost("a timer of the session manager"),
  "session.limit": () => byHost("counted by the session manager"),
  "session.persist": ({ session }) =>
    byHost(
      session.persist
        ? "state directory of this user, files of mode 0600"
        : "nothing is kept on disk after the session",
    ),
  "session.checkpoints": () => byHost("counted by the session; the memory counts against the cell"),
  "session.pool": ({ session }) =>
    byHost(session.pool > 0 ? "cells of this policy only, each used once" : "no cell waits"),
  "audit.enabled": ({ audit }) =>
    byHost(
      audit.enabled ? "hash-chained files of mode 0600, where a state directory is used" : "nothing is written down",
    ),
  "audit.code": ({ audit }) => byHost(audit.code === "full" ? "text and sha256" : "sha256 alone"),
  "audit.durable": ({ audit }) =>
    byHost(audit.durable ? "runs start and results are given after fdatasync" : "written within milliseconds"),
  "audit.keep": () => byHost("whole files of a chain, oldest first; the audit says which"),
  "audit.age": () => byHost("whole files of a chain, oldest first; the audit says which"),
};
