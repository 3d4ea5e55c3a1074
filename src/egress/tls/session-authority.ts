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

/** An authority of one session, in PEM. Whoever has the key can read what this one cell says over TLS, and nobody else's. */
export interface AuthorityPair {
  readonly name: string;
  readonly certificate: string;
  readonly key: string;
  /** milliseconds since 1970 */
  readonly until: number;
}

const backdatedMs = 3_600_000;

/**
 * Makes an authority that its cell trusts, for the inspected names alone where they are listed. It lives in memory: in
 * this process, which starts the proxy again when that dies, and in the proxy's.
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

/** Certificates of the hosts that a session asks for, made when they are, and kept up to a number that no cell can raise. */
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
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION, // costs us a signature each time a client likes
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

/** A constraint names a domain and means all below it. */
function nameOf(pattern: string): string {
  return (pattern.split(":")[0] ?? "").replace(/^\*\./, "");
}
