import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { rootCertificates } from "node:tls";

/** Where distributions keep their trusted certificate authorities in one file. */
const files = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/ssl/ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

/** The variables by which different clients find the file with their trusted certificate authorities. */
const variables = [
  ...["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "NODE_EXTRA_CA_CERTS"],
];

/** The file with the certificate authorities that this host trusts; undefined if there is none. */
export function findHostCertificates(root = "/"): string | undefined {
  return files.find((path) => existsSync(join(root, path)));
}

/** The certificate authorities that this host trusts, in PEM; Node's own if the host has no such file. */
export async function readHostCertificates(): Promise<string> {
  const path = findHostCertificates();
  return path === undefined ? rootCertificates.join("\n") : readFile(path, "utf8");
}

/** Variables that make clients read this file. */
export function certificateVariables(path: string): Record<string, string> {
  return Object.fromEntries(variables.map((name) => [name, path]));
}
