import type { AuthorityPair } from "../tls/session-authority.ts";

/** A secret of one session: what the cell holds, and what the proxy puts in its place. */
export interface HeldSecret {
  readonly name: string;
  readonly placeholder: string;
  readonly value: string;
  /** names of the hosts that get it, without ports: what they answer is searched for it */
  readonly hosts: readonly string[];
}

/** What the proxy knows of a session and its cell does not. It goes between processes by message and nowhere else. */
export interface SessionKeys {
  readonly secrets: readonly HeldSecret[];
  /** present where TLS is opened */
  readonly authority?: AuthorityPair | undefined;
}

export const noKeys: SessionKeys = { secrets: [] };
