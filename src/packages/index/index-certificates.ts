import { readFile } from "node:fs/promises";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { readHostCertificates } from "../../lib/host-certificates.ts";

/** The authorities that vouch for an index: pip's setting if there is one, else those of this machine. */
export async function readCertificates(environment: NodeJS.ProcessEnv): Promise<string | undefined> {
  const name = ["PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"].find((variable) => environment[variable]);
  const path = name === undefined ? undefined : environment[name];
  if (path === undefined) return readHostCertificates();
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new CodecellError("usage", `${name} names certificates that cannot be read: ${messageOf(error)}`, {
      hint: `unset ${name}, or have it name a file in PEM format`,
      cause: error,
    });
  }
}
