import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as kubernetes from "@kubernetes/client-node";
import { parseAllDocuments } from "yaml";
import { sendOrder } from "../commands.js";
import { cellImage } from "../images.js";

export const root = fileURLToPath(new URL("../../..", import.meta.url));
export const cellsNamespace = "codecell-cells";
const gatewaysNamespace = "codecell";
const manifests = join(root, "deploy", "manifests", "codecell.yaml");

/** What gateways have in a cluster. The quota of pods is left out: a test has more sessions than it allows. */
const applied = ["Namespace", "ServiceAccount", "Role", "RoleBinding", "NetworkPolicy", "LimitRange"];

/**
 * @typedef {object} Context
 * @property {string} directory temporary
 * @property {boolean} isOwnCluster whether orders can be given
 * @property {(subject: string) => Promise<unknown>} order
 * @property {kubernetes.KubeConfig} config the administrator's
 * @property {kubernetes.CoreV1Api} core the same
 * @property {NodeJS.ProcessEnv} env of gateways: the rights of the chart's service account, and nothing more
 */

/** @returns {Promise<Context & { close(): Promise<void> }>} */
export async function openContext() {
  const ownCluster = process.env.CODECELL_TEST_CLUSTER;
  if (!ownCluster && !process.env.CODECELL_KUBERNETES_IMAGE) {
    throw new Error("set CODECELL_KUBERNETES_IMAGE to an image with Python that the nodes of this cluster can pull");
  }
  const config = new kubernetes.KubeConfig();
  config.loadFromDefault();
  const core = config.makeApiClient(kubernetes.CoreV1Api);
  // a killed test leaves it to the cluster's end
  const directory = await mkdtemp(join(ownCluster ?? tmpdir(), "steps-"));
  await installRights(config);
  const kubeconfig = join(directory, "gateway.kubeconfig");
  await writeFile(kubeconfig, await gatewayConfig(config, core), { mode: 0o600 });
  const env = {
    ...process.env,
    KUBECONFIG: kubeconfig,
    CODECELL_KUBERNETES_NAMESPACE: cellsNamespace,
    ...(ownCluster ? { CODECELL_KUBERNETES_IMAGE: cellImage, CODECELL_KUBERNETES_PULL_POLICY: "Never" } : {}),
  };
  return {
    directory,
    isOwnCluster: ownCluster !== undefined,
    order: (subject) => sendOrder(ownCluster, subject),
    config,
    core,
    env,
    close: () => rm(directory, { recursive: true, force: true }),
  };
}

/** The namespaces, rights and policies of the manifests that people deploy. */
async function installRights(config) {
  const objects = kubernetes.KubernetesObjectApi.makeApiClient(config);
  const documents = parseAllDocuments(await readFile(manifests, "utf8")).map((document) => document.toJS());
  const gateways = { apiVersion: "v1", kind: "Namespace", metadata: { name: gatewaysNamespace } };
  const wanted = documents.filter((one) => applied.includes(one?.kind));
  const namespacesFirst = [gateways, ...wanted].sort((a, b) => rank(a) - rank(b));
  for (const one of namespacesFirst) await createOrReplace(objects, one);
}

async function createOrReplace(objects, one) {
  try {
    await objects.create(one);
  } catch (error) {
    if (error.code !== 409) throw error;
    const { metadata } = await objects.read(one);
    const { resourceVersion } = metadata;
    await objects.replace({ ...one, metadata: { ...one.metadata, resourceVersion } });
  }
}

function rank({ kind }) {
  return kind === "Namespace" ? 0 : 1;
}

/** A kubeconfig with a token of the service account. */
async function gatewayConfig(config, core) {
  const asked = { name: "codecell", namespace: gatewaysNamespace };
  const spec = { audiences: [], expirationSeconds: 86_400 };
  const { status } = await core.createNamespacedServiceAccountToken({ ...asked, body: { spec } });
  const cluster = config.getCurrentCluster();
  const name = "gateway";
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server: cluster.server, "certificate-authority-data": cluster.caData } }],
    users: [{ name, user: { token: status.token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: cellsNamespace } }],
    "current-context": name,
  });
}
