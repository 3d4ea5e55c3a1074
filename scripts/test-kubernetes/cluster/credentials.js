import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../command.js";
import { apiAddress, apiUrl, nodes, serviceAddress } from "./layout.js";

/** user, groups: the name and the groups that the API server knows each program by */
const users = {
  admin: ["admin", "system:masters"],
  controllers: ["system:kube-controller-manager", "system:masters"],
  scheduler: ["system:kube-scheduler", ""],
  ...Object.fromEntries(nodes.map(({ name }) => [name, [`system:node:${name}`, "system:nodes"]])),
};

const names = [
  `IP:${apiAddress}`,
  `IP:${serviceAddress}`,
  "IP:127.0.0.1",
  "DNS:kubernetes.default.svc",
  "DNS:localhost",
];

/**
 * Makes the certificates of the API server, a token for each program, and a kubeconfig for each token.
 * @param {string} directory
 */
export async function makeCredentials(directory) {
  const pki = join(directory, "pki");
  await mkdir(pki, { recursive: true, mode: 0o700 });
  const openssl = (...argv) => run(["openssl", ...argv], { cwd: pki });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const ca = ["-CA", "ca.crt", "-CAkey", "ca.key", "-days", "2"];
  await openssl(
    "req",
    "-x509",
    ...key,
    "-keyout",
    "ca.key",
    "-out",
    "ca.crt",
    "-days",
    "2",
    "-subj",
    "/CN=codecell test",
  );
  const server = ["-addext", `subjectAltName=${names.join(",")}`, "-subj", "/CN=kube-apiserver"];
  await openssl("req", "-x509", ...key, ...ca, ...server, "-keyout", "server.key", "-out", "server.crt");
  const client = ["-subj", "/O=system:masters/CN=kube-apiserver-kubelet-client"];
  await openssl(
    "req",
    "-x509",
    ...key,
    ...ca,
    ...client,
    "-keyout",
    "kubelet-client.key",
    "-out",
    "kubelet-client.crt",
  );
  await openssl("genrsa", "-out", "service-accounts.key", "2048");
  await openssl("rsa", "-in", "service-accounts.key", "-pubout", "-out", "service-accounts.pub");
  const authority = (await readFile(join(pki, "ca.crt"))).toString("base64");
  const rows = [];
  for (const [file, [user, groups]] of Object.entries(users)) {
    const token = randomBytes(16).toString("hex");
    rows.push(`${token},${user},${file}${groups ? `,"${groups}"` : ""}`);
    await writeFile(join(pki, `${file}.kubeconfig`), kubeconfig(authority, token), { mode: 0o600 });
  }
  await writeFile(join(pki, "tokens.csv"), `${rows.join("\n")}\n`, { mode: 0o600 });
}

/** Pure. JSON is YAML. */
function kubeconfig(authority, token) {
  const name = "codecell-test";
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server: apiUrl, "certificate-authority-data": authority } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: "default" } }],
    "current-context": name,
  });
}
