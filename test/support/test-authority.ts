import { execFile } from "node:child_process";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface TestAuthority {
  /** directory with only `ca.crt`, the authority's certificate */
  readonly directory: string;
  readonly key: Buffer;
  readonly cert: Buffer;
}

/** Makes a certificate authority for one test, and a certificate for some names and addresses. */
export async function makeAuthority(root: string, names: readonly string[]): Promise<TestAuthority> {
  const at = (name: string) => join(root, name);
  const openssl = (...args: string[]) => run("openssl", args, { cwd: root });
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const directory = at("public");
  await mkdir(directory);
  await chmod(directory, 0o755);
  const certificate = join(directory, "ca.crt");
  await openssl("req", "-x509", ...newKey, "-keyout", "ca.key", "-out", certificate, "-days", "2", "-subj", "/CN=test");
  await chmod(certificate, 0o644);
  await openssl("req", ...newKey, "-keyout", "leaf.key", "-out", "leaf.csr", "-subj", "/CN=leaf");
  await writeFile(
    at("leaf.ext"),
    `subjectAltName=${names.map((name) => `${isIP(name) ? "IP" : "DNS"}:${name}`).join(",")}\n`,
  );
  await openssl(
    ...["x509", "-req", "-in", "leaf.csr", "-CA", certificate, "-CAkey", "ca.key", "-CAcreateserial"],
    ...["-out", "leaf.pem", "-days", "2", "-extfile", "leaf.ext"],
  );
  return { directory, key: await readFile(at("leaf.key")), cert: await readFile(at("leaf.pem")) };
}
