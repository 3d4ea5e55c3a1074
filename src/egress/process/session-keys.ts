import type { AuthorityPair } from "../tls/session-authority.ts";

/** A secret of one session: the placeholder in the cell, and the value that the proxy puts in its place. */
export interface HeldSecret {
  readonly name: string;
  readonly placeholder: string;
  readonly value: string;
  /** hosts that get it, without ports; their responses are searched for the value */
  readonly hosts: readonly string[];
}

/** Secrets of a session that the proxy has and its cell does not. They are passed by message only, never by file. */
export interface SessionKeys {
  readonly secrets: readonly HeldSecret[];
  /** present if TLS is inspected */
  readonly authority?: AuthorityPair | undefined;
}

export const noKeys: SessionKeys = { secrets: [] };
