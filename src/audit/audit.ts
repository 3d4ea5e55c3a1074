import type { AuditEvent } from "./event.ts";

/** Where events are recorded. Recording never delays a run, unless the policy sets `audit.durable`. */
export interface Audit extends AsyncDisposable {
  /** whether a run waits until its events are synced to disk */
  readonly isDurable: boolean;
  /** Takes an event and returns at once; it never throws. */
  record(event: AuditEvent): void;
  /**
   * Reserves the position of events that are known soon, so that they come before those recorded after this call. Later
   * events wait for them, so the promise must settle soon. `session` is the one that they are about.
   */
  recordLater(events: Promise<readonly AuditEvent[]>, session?: string): void;
  /**
   * Resolves when everything recorded so far is synced to disk; rejects with `audit_failed` if that is not possible. With a
   * session, events of other tenants need not be waited for.
   */
  settled(session?: string): Promise<void>;
}

/** Records nothing: the default of the library. */
export const silentAudit: Audit = {
  isDurable: false,
  record() {},
  recordLater() {},
  async settled() {},
  async [Symbol.asyncDispose]() {},
};
