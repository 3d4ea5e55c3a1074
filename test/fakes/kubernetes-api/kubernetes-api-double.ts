/**
 * A contract double of a Kubernetes cluster, for tests: an API server over TLS, and nodes that really run the containers of
 * pods, as process trees of this machine under bubblewrap. It is used through the real client with a kubeconfig file.
 * `recorded.json` has the answers of a real API server, and `recorded-streams-*.json` has what real clusters of two versions
 * say over streams. Tests compare.
 *
 * What it does not imitate:
 * - Images: every image in the list is this machine's /usr. Nothing is pulled, and an image has no user, entry point or files
 *   of its own.
 * - One container per pod, never restarted; no init containers, probes, lifecycle hooks, events or quotas. Volumes are
 *   emptyDirs (in memory, each mounted once) and ConfigMaps, which do not change while a pod runs.
 * - Capabilities, seccomp profiles, AppArmor and runtime classes: every container has no capabilities, no new privileges,
 *   and no filter but its own. A RuntimeClass is a name.
 * - Limits of memory and processors hold where this process may make cgroups. A disk volume that grows too large is not
 *   evicted: a test does that.
 * - Admission but for RuntimeClasses and webhooks that a test adds, most validation and most defaults, managedFields,
 *   server-side apply, strategic merge patches (a patch is a merge patch), tables, protobuf, dry runs, finalizers and owner
 *   references.
 * - The network: NetworkPolicies cut the whole link of a pod, or (by a switch) nothing. There are no Services, no DNS, and no
 *   way out of it. Pods of a process that is not root have only loopback.
 * - Bookmarks come when a test asks for them, and changes are forgotten when it says so.
 * - The scheduler knows names and labels of nodes, not their room.
 * - agent-sandbox is installed by choice: its resources without their schemas, and a fake controller.
 * - User namespaces of pods map one user.
 * - Where this process is not root, the user of a container is a number that stands for the caller.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { Cleanup } from "../../../src/lib/cleanup.ts";
import { detectCgroups } from "../../../src/runners/process/cgroup/cgroup.ts";
import { makeAuthority } from "../../support/test-authority.ts";
import type { Access, ApiUser } from "./api/access-rules.ts";
import { TooManyRequests } from "./api/api-error.ts";
import { ApiServer } from "./api/api-server.ts";
import { ObjectStore } from "./api/object-store.ts";
import { customResources, resources } from "./api/resource-table.ts";
import { serverVersion } from "./api/server-version.ts";
import { FakeAgentSandbox } from "./fake-agent-sandbox.ts";
import { ClusterNodes } from "./node/cluster-nodes.ts";
import { PodNetwork, type PolicyEngine } from "./node/pod-network.ts";
import { PodStreams } from "./streams/pod-streams.ts";

export interface DoubleOptions {
  readonly namespace?: string;
  readonly images?: readonly string[];
  /** empty: nothing happens to pods */
  readonly nodes?: readonly string[];
  /** default: `1.31.0` */
  readonly version?: string;
  /** whose token is in the kubeconfig file; default: an administrator */
  readonly user?: ApiUser;
  /** others, by token */
  readonly users?: Readonly<Record<string, ApiUser>>;
  /** changes before this version are forgotten */
  readonly firstVersion?: number;
  /** default: `ignores`; only root can make another network than `absent` */
  readonly network?: PolicyEngine;
  /** agent-sandbox is installed; default: it is not */
  readonly hasAgentSandbox?: boolean;
}

const administrator: ApiUser = { name: "system:admin", grants: "everything" };

/** A running double. Disposing ends every container. */
export class KubernetesApiDouble implements AsyncDisposable {
  readonly store: ObjectStore;
  readonly server: ApiServer;
  readonly nodes: ClusterNodes;
  readonly streams: PodStreams;
  /** path of a file with the address, the authority's certificate and a token */
  readonly kubeconfig: string;
  readonly namespace: string;
  /** of the authority that signed the server's */
  readonly certificate: Buffer;
  /** every access that was granted, such as `create pods/attach` */
  readonly used: ReadonlySet<string>;
  /** undefined: pods have nothing but loopback */
  readonly network: PodNetwork | undefined;
  /** undefined: it is not installed */
  readonly agentSandbox: FakeAgentSandbox | undefined;
  readonly #cleanup: Cleanup;

  private constructor(
    parts: Pick<
      KubernetesApiDouble,
      | "store"
      | "server"
      | "nodes"
      | "streams"
      | "kubeconfig"
      | "namespace"
      | "used"
      | "network"
      | "certificate"
      | "agentSandbox"
    >,
    cleanup: Cleanup,
  ) {
    ({
      store: this.store,
      server: this.server,
      nodes: this.nodes,
      streams: this.streams,
      kubeconfig: this.kubeconfig,
      namespace: this.namespace,
      used: this.used,
      network: this.network,
      certificate: this.certificate,
      agentSandbox: this.agentSandbox,
    } = parts);
    this.#cleanup = cleanup;
  }

  static async start(options: DoubleOptions = {}): Promise<KubernetesApiDouble> {
    const { namespace = "cells", images = ["codecell-python:test"], nodes: names = ["node-a", "node-b"] } = options;
    await using cleanup = new Cleanup();
    const directory = await mkdtemp(join(tmpdir(), "codecell-double-"));
    cleanup.defer(() => rm(directory, { recursive: true, force: true }));
    const authority = await makeAuthority(directory, ["127.0.0.1"]);
    const cgroups = await detectCgroups({ trialName: `codecell-double-trial-${process.pid}` });
    const store = new ObjectStore(options.firstVersion);
    const version = serverVersion(options.version ?? "1.31.0");
    const engine = process.getuid?.() === 0 ? (options.network ?? "ignores") : "absent";
    const network = engine === "absent" ? undefined : await PodNetwork.open(store, engine);
    if (network !== undefined) cleanup.defer(() => network[Symbol.asyncDispose]());
    const nodes = new ClusterNodes({
      ...{ store, directory: join(directory, "pods"), nodes: names, images, cgroups, network },
    });
    cleanup.defer(() => nodes[Symbol.asyncDispose]());
    const streams = new PodStreams(store, nodes, version.protocols);
    const agentSandbox = options.hasAgentSandbox ? new FakeAgentSandbox(store) : undefined;
    cleanup.defer(() => agentSandbox?.[Symbol.dispose]());
    const token = "test-token";
    const server = new ApiServer({
      ...{
        store,
        tls: authority,
        users: new Map([[token, options.user ?? administrator], ...Object.entries(options.users ?? {})]),
      },
      version,
      served: options.hasAgentSandbox ? [...resources, ...customResources] : resources,
      log: (target, response) => streams.log(target, response),
      notUpgraded: (target) => streams.notUpgraded(target),
      upgrade: (...request) => streams.upgrade(...request),
    });
    const used = new Set<string>();
    server.on("used", ({ verb, resource }: Access) => used.add(`${verb} ${resource}`));
    await server.listen();
    cleanup.defer(() => server.stop());
    const kubeconfig = join(directory, "kubeconfig");
    const ca = join(authority.directory, "ca.crt");
    await writeFile(kubeconfig, kubeconfigText({ server: server.url, ca, token, namespace }), { mode: 0o600 });
    return new KubernetesApiDouble(
      {
        ...{ store, server, nodes, streams, kubeconfig, namespace, used, network, agentSandbox },
        certificate: await readFile(ca),
      },
      cleanup.move(),
    );
  }

  /** Breaks every watch in the middle. */
  dropWatches(): void {
    for (const watch of this.server.watches) watch.drop();
  }

  /** Breaks the streams to one pod, or to all. */
  dropStreams(pod?: string): void {
    for (const stream of this.streams.open) if (pod === undefined || stream.pod === pod) stream.socket.drop();
  }

  /** The next requests that `matches` selects are answered with 429. */
  refuseNext(
    count: number,
    retryAfterSeconds: number,
    matches: (verb: string, resource: string) => boolean = () => true,
  ): void {
    let left = count;
    const fault = ({ verb, resource }: { verb: string; resource: { plural: string } }) => {
      if (!matches(verb, resource.plural)) return;
      left -= 1;
      if (left <= 0) this.server.faults.delete(fault);
      throw new TooManyRequests(retryAfterSeconds);
    };
    this.server.faults.add(fault);
  }

  /** The server is gone and comes back at the same address. Nodes go on meanwhile. */
  async restartServer(): Promise<void> {
    await this.server.stop();
    await this.server.listen();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#cleanup[Symbol.asyncDispose]();
  }
}

function kubeconfigText({
  server,
  ca,
  token,
  namespace,
}: Record<"server" | "ca" | "token" | "namespace", string>): string {
  return stringify({
    ...{ apiVersion: "v1", kind: "Config", "current-context": "double" },
    clusters: [{ name: "double", cluster: { server, "certificate-authority": ca } }],
    users: [{ name: "test", user: { token } }],
    contexts: [{ name: "double", context: { cluster: "double", user: "test", namespace } }],
  });
}
