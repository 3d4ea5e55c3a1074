import {
  constants,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import { everyHost } from "../../policy/network/inspect.ts";
import { authorityExtensions, makeCertificate, serverExtensions } from "./certificate.ts";

/** The certificate authority of one session, in PEM. Its key can decrypt the TLS of this cell only. */
export interface AuthorityPair {
  readonly name: string;
  readonly certificate: string;
  readonly key: string;
  /** milliseconds since 1970 */
  readonly until: number;
}

const backdatedMs = 3_600_000;

/**
 * Makes an authority that the cell trusts, limited to the inspected names if they are listed. It is kept in memory only: in
 * this process, which restarts the proxy, and in the proxy.
 */
export function makeSessionAuthority(inspect: readonly string[], livesMs: number): AuthorityPair {
  const { publicKey, privateKey } = newKey();
  const name = `codecell session ${randomBytes(6).toString("hex")}`;
  const until = Date.now() + livesMs;
  const names = inspect.includes(everyHost) ? undefined : [...new Set(inspect.map(nameOf))];
  const certificate = makeCertificate({
    ...{ subject: name, issuer: name, publicKey, signingKey: privateKey },
    ...{ from: new Date(Date.now() - backdatedMs), until: new Date(until) },
    extensions: authorityExtensions(publicKey, names),
  });
  return { name, certificate, key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(), until };
}

/** Certificates of a session's hosts, made on demand. The cache is bounded, so that a cell cannot fill the memory. */
export class ServerCertificates {
  readonly #authority: AuthorityPair;
  readonly #maxServers: number;
  readonly #signingKey: KeyObject;
  readonly #authorityKey: KeyObject;
  readonly #server = newKey();
  readonly #contexts = new Map<string, SecureContext>();

  constructor(authority: AuthorityPair, maxServers = 256) {
    this.#authority = authority;
    this.#maxServers = maxServers;
    this.#signingKey = createPrivateKey(authority.key);
    this.#authorityKey = createPublicKey(this.#signingKey);
  }

  for(host: string): SecureContext {
    const known = this.#contexts.get(host);
    if (known) return known;
    const [oldest] = this.#contexts.keys();
    if (this.#contexts.size >= this.#maxServers && oldest !== undefined) this.#contexts.delete(oldest);
    const made = createSecureContext({
      key: this.#server.privateKey.export({ type: "pkcs8", format: "pem" }),
      cert: this.#certificate(host),
      minVersion: "TLSv1.2",
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION, // the attack: a client that makes us sign again and again
    });
    this.#contexts.set(host, made);
    return made;
  }

  #certificate(host: string): string {
    const { name, until } = this.#authority;
    return makeCertificate({
      ...{ subject: "codecell", issuer: name, publicKey: this.#server.publicKey, signingKey: this.#signingKey },
      ...{ from: new Date(Date.now() - backdatedMs), until: new Date(until) },
      extensions: serverExtensions(host, this.#authorityKey),
    });
  }
}

function newKey(): { publicKey: KeyObject; privateKey: KeyObject } {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

/** A name constraint covers a domain and everything below it. */
function nameOf(pattern: string): string {
  return (pattern.split(":")[0] ?? "").replace(/^\*\./, "");
}
