import type { SessionKeys } from "../../egress/process/session-keys.ts";
import { makeSessionAuthority } from "../../egress/tls/session-authority.ts";
import { certificateVariables, readHostCertificates } from "../../lib/host-certificates.ts";
import type { Policy } from "../../policy/schema.ts";
import { readSecrets } from "./secret-values.ts";

/** Where the cell's clients find the trusted certificates. Every kind of cell has a private /tmp. */
const authoritiesPath = "/tmp/.authorities/ca-certificates.crt";
/** Sessions end before this; the certificate authority may live a little longer. */
const graceMs = 3_600_000;

/** What one cell and its proxy share. */
export interface CellKeys {
  /** for the proxy alone */
  readonly keys: SessionKeys;
  /** variables for the cell: placeholders, and where its authorities are */
  readonly env: Readonly<Record<string, string>>;
  /** a file for the cell, where TLS is opened: the host's authorities and the session's own */
  readonly authorities: { readonly path: string; readonly content: Buffer } | undefined;
}

/** Reads the values and makes the authority that a policy asks for. What the policy sets under `env` wins. */
export async function makeCellKeys({ net, env, session }: Policy): Promise<CellKeys> {
  const secrets = await readSecrets(net.secrets);
  const placeholders = Object.fromEntries(secrets.map(({ name, placeholder }) => [name, placeholder]));
  if (net.inspect.length === 0) return { keys: { secrets }, env: placeholders, authorities: undefined };
  const authority = makeSessionAuthority(net.inspect, session.lifetimeMs + graceMs);
  return {
    keys: { secrets, authority },
    env: { ...certificateVariables(authoritiesPath), ...env, ...placeholders },
    authorities: {
      path: authoritiesPath,
      content: Buffer.from(`${await readHostCertificates()}\n${authority.certificate}`),
    },
  };
}
