import type { AuditEvent } from "./event.ts";

/** Where events go. Writing down is never in the way of what happens, unless the policy wants it durable. */
export interface Audit extends AsyncDisposable {
  /** whether what happens waits until it is written down for good */
  readonly isDurable: boolean;
  /** Takes an event and returns at once; it never throws. */
  record(event: AuditEvent): void;
  /**
   * Keeps a place for events that are known in a moment, so that they stand before what is recorded after this call. What
   * comes after waits for them, so the promise has to settle soon.
   */
  recordLater(events: Promise<readonly AuditEvent[]>): void;
  /** Settles when everything recorded so far is on disk for good; `audit_failed` when that cannot be. */
  settled(): Promise<void>;
}

/** Writes nothing: what the library does unless a host passes an audit in. */
export const silentAudit: Audit = {
  isDurable: false,
  record() {},
  recordLater() {},
  async settled() {},
  async [Symbol.asyncDispose]() {},
};
