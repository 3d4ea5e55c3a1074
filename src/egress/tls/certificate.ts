import { createHash, type KeyObject, randomBytes, sign } from "node:crypto";
import { bits, identifier, integer, named, octets, sequence, set, tagged, time, utf8, yes } from "./der.ts";

/** The fields that every certificate has, besides its extensions. */
export interface CertificateParts {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  /** the issuer's key, on the curve P-256 */
  readonly signingKey: KeyObject;
  readonly from: Date;
  readonly until: Date;
  readonly extensions: readonly Buffer[];
}

const ecdsaWithSha256 = sequence(identifier("1.2.840.10045.4.3.2"));
const commonName = "2.5.4.3";
const serverAuthentication = "1.3.6.1.5.5.7.3.1";
const id = {
  subjectKey: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectNames: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  nameConstraints: "2.5.29.30",
  authorityKey: "2.5.29.35",
  extendedUsage: "2.5.29.37",
} as const;
const general = { dnsName: 2, address: 7 } as const;

/** An X.509 certificate, in PEM. Node can read certificates but not create them; this is all that a session's authority needs. */
export function makeCertificate(parts: CertificateParts): string {
  const body = sequence(
    tagged(0, integer(Buffer.from([2]))), // version 3
    integer(randomBytes(16)),
    ecdsaWithSha256,
    name(parts.issuer),
    sequence(time(parts.from), time(parts.until)),
    name(parts.subject),
    parts.publicKey.export({ type: "spki", format: "der" }),
    tagged(3, sequence(...parts.extensions)),
  );
  return pem(sequence(body, ecdsaWithSha256, bits(sign("sha256", body, parts.signingKey))));
}

/** Extensions of an authority that can sign only servers, only for these domains and for no address; `undefined`: for all. */
export function authorityExtensions(publicKey: KeyObject, names: readonly string[] | undefined): Buffer[] {
  const addresses = [8, 32].map((size) => sequence(named(general.address, Buffer.alloc(size))));
  const permitted = names?.map((one) => sequence(named(general.dnsName, Buffer.from(one, "latin1"))));
  return [
    extension(id.basicConstraints, sequence(yes, integer(Buffer.from([0]))), "critical"),
    extension(id.keyUsage, bits(Buffer.from([0x04]), 2), "critical"), // keyCertSign
    extension(
      id.nameConstraints,
      sequence(...(permitted ? [tagged(0, ...permitted)] : []), tagged(1, ...addresses)),
      "critical",
    ),
    extension(id.subjectKey, octets(keyIdentifier(publicKey))),
  ];
}

/** Extensions of a server certificate for one name. */
export function serverExtensions(host: string, authorityKey: KeyObject): Buffer[] {
  return [
    extension(id.basicConstraints, sequence(), "critical"),
    extension(id.keyUsage, bits(Buffer.from([0x80]), 7), "critical"), // digitalSignature
    extension(id.extendedUsage, sequence(identifier(serverAuthentication))),
    extension(id.subjectNames, sequence(named(general.dnsName, Buffer.from(host, "latin1")))),
    extension(id.authorityKey, sequence(named(0, keyIdentifier(authorityKey)))),
  ];
}

function extension(identity: string, content: Buffer, weight?: "critical"): Buffer {
  return sequence(identifier(identity), ...(weight ? [yes] : []), octets(content));
}

function name(text: string): Buffer {
  return sequence(set(sequence(identifier(commonName), utf8(text))));
}

/** Key identifier, which helps clients to find the issuer. Not security-relevant. */
function keyIdentifier(publicKey: KeyObject): Buffer {
  const point = publicKey.export({ type: "spki", format: "der" }).subarray(-65);
  return createHash("sha1").update(point).digest();
}

function pem(der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
