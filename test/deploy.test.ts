import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isMap, isPair, type Pair, parse, parseDocument, type YAMLMap } from "yaml";
import { z } from "zod";
import { packageRoot } from "../src/lib/files/package-root.ts";
import { parsePolicy } from "../src/policy/file/parse-policy.ts";
import { quantity } from "../src/runners/kubernetes/diagnosis/quantity.ts";
import { closedPolicy } from "../src/runners/kubernetes/network/network-policy.ts";
import { cellPod } from "../src/runners/kubernetes/pod/cell-pod.ts";
import { kubernetesSettings } from "../src/runners/kubernetes/settings.ts";
import {
  type AccessRule,
  claimRules,
  clusterRules,
  optionalRules,
  requiredRules,
} from "../src/runners/kubernetes/verbs.ts";
import { serveOptions } from "../src/surfaces/cli/serve/serve-options.ts";
import { parseArguments } from "../src/surfaces/cli/shell/arguments.ts";
import { routes } from "../src/surfaces/http/routes.ts";
import { documentsOf, renderChart, valuesOf } from "./fakes/fake-helm/fake-helm.ts";
import { type CheckedPod, restrictedViolations } from "./support/pod-security.ts";

/** What is known of a cell at its start. */
const cellFacts = {
  ...{
    name: "codecell-a-1",
    gateway: "a",
    policyHash: "",
    image: "codecell-python",
    python: "python3",
    kernel: "kernel",
  },
  ...{ arch: "amd64", user: { uid: 1_000_000_000, gid: 1_000_000_000 }, hasOwnKernel: false, sizesMemoryFiles: true },
  network: { by: "policy", withoutRuntimeFilter: false },
} as const;
const chart = join(packageRoot(), "deploy/helm/codecell");
const read = (path: string) => readFileSync(join(packageRoot(), path), "utf8");
const manyValues = parse(read("test/fixtures/helm/many-values.yaml"));

interface KubernetesObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly rules?: readonly unknown[];
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly data?: Readonly<Record<string, string>>;
}

interface HttpProbe {
  readonly httpGet: { readonly path: string; readonly httpHeaders: readonly object[] };
}

type GatewayContainer = CheckedPod["containers"][number] & {
  readonly image: string;
  readonly args: readonly string[];
} & Readonly<Record<"startupProbe" | "readinessProbe" | "livenessProbe", HttpProbe>>;

function objects(text: string): Map<string, KubernetesObject> {
  const all = documentsOf(text) as unknown as KubernetesObject[];
  const named = all.map((one) => [`${one.kind} ${one.metadata.namespace ?? ""}/${one.metadata.name}`, one] as const);
  return new Map(named.sort(([a], [b]) => (a < b ? -1 : 1)));
}

const chartObjects = (values?: Record<string, unknown>) => objects(renderChart(chart, values));

function podOf(all: Map<string, KubernetesObject>): CheckedPod & { containers: GatewayContainer[] } {
  const spec = all.get("Deployment codecell/codecell")?.spec as { template: { spec: never } };
  return spec.template.spec;
}

const asRole = ({ apiGroup, resource, verbs }: AccessRule) => ({
  ...{ apiGroups: [apiGroup], resources: [resource], verbs: [...verbs] },
});

describe("the chart and the manifests", () => {
  test("the manifests are what the chart gives by default", () => {
    expect(objects(read("deploy/manifests/codecell.yaml"))).toEqual(chartObjects());
  });

  test("the fake of Helm renders the chart with many other values as Helm did", () => {
    expect(chartObjects(manyValues)).toEqual(objects(read("test/fixtures/helm/many-values.rendered.yaml")));
  });

  test("the manifests and the chart have the version of the package", () => {
    const { version } = JSON.parse(read("package.json"));
    expect(parse(read("deploy/helm/codecell/Chart.yaml"))).toMatchObject({ version, appVersion: version });
    expect(podOf(chartObjects()).containers[0]?.image).toBe(`codecell-service:${version}`);
    expect(parse(read("deploy/manifests/kustomization.yaml")).images[0].newTag).toBe(version);
  });
});

test("the image of the gateways has the clients of the cluster and the database, in the versions that are tested", () => {
  const { devDependencies } = JSON.parse(read("package.json"));
  const clients = ["@kubernetes/client-node", "pg"].map((name) => `${name}@${devDependencies[name]}`);
  expect(read("images/service/Dockerfile")).toContain(`--save-exact ${clients.join(" ")}`);
});

describe("rights of the gateways", () => {
  test("the Role has exactly the rules that the runner and the doctor use, in the cells' namespace", () => {
    const all = chartObjects();
    const rules = all.get("Role codecell-cells/codecell")?.rules;
    expect(rules).toEqual([...requiredRules, ...optionalRules].map(asRole));
    expect([...all.keys()].filter((name) => /^(?:Cluster)?Role/.test(name))).toEqual([
      "Role codecell-cells/codecell",
      "RoleBinding codecell-cells/codecell",
    ]);
  });

  test("the rights for agent-sandbox are there by choice alone", () => {
    const all = chartObjects({ agentSandbox: { enabled: true } });
    const rules = all.get("Role codecell-cells/codecell")?.rules;
    expect(rules).toEqual([...requiredRules, ...optionalRules, ...claimRules].map(asRole));
  });

  test("the only cluster-wide right is to get runtime classes, by choice", () => {
    const all = chartObjects({ rbac: { runtimeClasses: true } });
    expect(all.get("ClusterRole /codecell-codecell")?.rules).toEqual(clusterRules.map(asRole));
  });
});

describe("isolation", () => {
  test("both namespaces refuse pods that are not restricted", () => {
    const cells = chartObjects().get("Namespace /codecell-cells");
    const gateways = objects(read("deploy/manifests/namespace.yaml")).get("Namespace /codecell");
    const restricted = { "pod-security.kubernetes.io/enforce": "restricted" };
    expect([cells?.metadata.labels, gateways?.metadata.labels]).toEqual([
      expect.objectContaining(restricted),
      expect.objectContaining(restricted),
    ]);
  });

  test("the gateways' pods satisfy the restricted profile", () => {
    expect(restrictedViolations(podOf(chartObjects()))).toEqual([]);
    expect(restrictedViolations(podOf(chartObjects(manyValues)))).toEqual([]);
    expect(restrictedViolations({ containers: [{ name: "bare" }], hostPID: true })).toHaveLength(5);
  });

  test("the pods of cells satisfy the restricted profile, and as many fit into the quota as it allows pods", () => {
    const all = chartObjects();
    const policy = parsePolicy(
      parse(all.get("ConfigMap codecell/codecell-policy")?.data?.["sandbox.policy.yaml"] ?? ""),
    );
    const { spec } = cellPod(policy, { ...cellFacts, settings: kubernetesSettings({}) });
    expect(restrictedViolations(spec as unknown as CheckedPod)).toEqual([]);
    const limits: Record<string, string> = { ...spec.containers[0]?.resources.limits };
    const quota = all.get("ResourceQuota codecell-cells/codecell")?.spec?.hard as Record<string, string>;
    const cells = Object.entries(limits).map(
      ([name, each]) => quantity(quota[`limits.${name}`] ?? "") / quantity(each),
    );
    expect([Number(quota.pods), ...cells]).toEqual([64, 64, 64, 64]);
  });

  test("the network policy of the cells is the one that the runner makes, which allows nothing", () => {
    const made = chartObjects().get("NetworkPolicy codecell-cells/codecell-no-network");
    const { metadata, spec } = closedPolicy();
    expect(made).toMatchObject({ metadata, spec });
    expect(made?.spec).toEqual(spec);
  });
});

describe("values", () => {
  const schema = z.fromJSONSchema(JSON.parse(read("deploy/helm/codecell/values.schema.json")));
  const defaults = parse(read("deploy/helm/codecell/values.yaml"));

  const problemsOf = (values: Record<string, unknown>) => schema.safeParse(valuesOf(chart, values)).error?.issues;

  test("the schema accepts the defaults", () => {
    expect(problemsOf({})).toBeUndefined();
    expect(problemsOf(manyValues)).toBeUndefined();
  });

  test.each<[string, Record<string, unknown>]>([
    ["a typo at the top", { replica: 3 }],
    ["a typo below", { cells: { namspace: "x" } }],
    ["a namespace that is none", { cells: { namespace: "Not a name" } }],
    ["a word instead of a number", { replicas: "two" }],
    ["a pull policy that does not exist", { image: { pullPolicy: "Sometimes" } }],
    ["a grace period that cuts a shutdown short", { terminationGracePeriodSeconds: 5 }],
    ["a subcommand as an option of serve", { extraArgs: ["run"] }],
    ["a list of ranges for an address", { networkPolicy: { apiServer: { cidr: "10.0.0.1/32,10.0.0.2/32" } } }],
  ])("the schema refuses %s", (_, values) => {
    expect(problemsOf(values)).toHaveLength(1);
  });

  test("the schema refuses null wherever it refuses the empty value", () => {
    const free = /^(?:policy|resources|cells\.quota|cells\.limitRange|ingress\.annotations)\./;
    const paths = pathsOf(defaults).filter((path) => !free.test(path));
    const accepted = paths.filter((path) => problemsOf(valueAt(path, null)) === undefined);
    expect(accepted.sort()).toEqual([
      "cells.limitRange",
      "cells.nodeSelector",
      "cells.quota",
      "cells.runtimeClass",
      "database.existingSecret",
      "extraArgs",
      "extraEnv",
      "image.pullSecrets",
      "image.tag",
      "ingress.annotations",
      "ingress.tlsSecret",
      "networkPolicy.apiServer.cidr",
      "networkPolicy.cells.except",
      "networkPolicy.cells.ports",
      "networkPolicy.database.cidr",
      "networkPolicy.ingressNamespaces",
      "nodeSelector",
      "podAnnotations",
      "publicUrl",
      "serviceMonitor.labels",
      "state.existingClaim",
      "token.existingSecret",
      "tolerations",
    ]);
    expect(problemsOf({ drain: null })?.[0]).toMatchObject({ path: ["drain"] });
  });

  test("the schema has every value of values.yaml, and no other but Helm's global", () => {
    const { properties } = JSON.parse(read("deploy/helm/codecell/values.schema.json"));
    expect(Object.keys(properties).sort()).toEqual(["global", ...Object.keys(defaults)].sort());
  });

  test("every group of values.yaml has a comment above it or above its first value", () => {
    const { contents } = parseDocument(read("deploy/helm/codecell/values.yaml"));
    const bare = (contents as YAMLMap).items.filter((pair, index) => index > 0 && !isDescribed(pair));
    expect(bare.map(({ key }) => String(key))).toEqual([]);
  });

  const examples = [...read("docs/deploy.md").matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = ""]) =>
    parse(text),
  );

  test.each(examples)("the example %# of docs/deploy.md is accepted, and has an effect", (values) => {
    expect(problemsOf(values)).toBeUndefined();
    expect(chartObjects(values)).not.toEqual(chartObjects());
  });

  test.each([
    ["two gateways without a database", { database: { existingSecret: "" } }, /need a database/],
    ["tokens that nothing keeps", { replicas: 1, database: { existingSecret: "" } }, /tokens would be gone/],
    [
      "exceptions that are all of the other address family",
      { ipFamily: "IPv6", networkPolicy: { cells: { except: ["10.0.0.0/8"] } } },
      /except has no IPv6 range/,
    ],
  ])("the chart refuses %s", (_, values, message) => {
    expect(() => renderChart(chart, values)).toThrow(message);
  });

  test("exceptions of the other address family do not matter where cells reach no port", () => {
    const cells = { ports: [], except: ["10.0.0.0/8"] };
    expect(renderChart(chart, { ipFamily: "IPv6", networkPolicy: { cells } })).toContain("kind: NetworkPolicy");
  });

  test.each(["my.codecell", "1codecell"])(
    "the chart refuses the release name %s, which no Service can have",
    (Name) => {
      expect(() => renderChart(chart, {}, { Name })).toThrow(
        `the release name ${Name} cannot be the name of a Service`,
      );
    },
  );

  test.each(["true", "null", "1e3"])("the name %s stays a name wherever it is used", (name) => {
    const everywhere = (name: string) => {
      const Name = /^\d/.test(name) ? "codecell" : name; // no name of a Service begins with a digit
      const values = {
        image: { pullSecrets: [name] },
        ...{ database: { existingSecret: name }, token: { existingSecret: name }, state: { existingClaim: name } },
        cells: { namespace: name, runtimeClass: name },
        ingress: { enabled: true, className: name, host: name, tlsSecret: name },
        networkPolicy: { ingressNamespaces: [name] },
        rbac: { runtimeClasses: true },
        serviceMonitor: { enabled: true, tokenSecret: { name, key: name } },
      };
      expect(problemsOf(values)).toBeUndefined();
      return JSON.stringify(documentsOf(renderChart(chart, values, { Name, Namespace: name })));
    };
    const Plain = /^\d/.test(name) ? "9-plain" : "plain";
    expect(everywhere(name)).toBe(everywhere(Plain).replaceAll(Plain, name));
  });

  test.each([
    ["IPv4", "0.0.0.0/0", ["10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"]],
    ["IPv6", "::/0", ["fc00::/7", "fe80::/10"]],
  ])("with %s, the gateways' network policy has ranges of this family alone", (ipFamily, cidr, except) => {
    const { spec } = chartObjects({ ipFamily }).get("NetworkPolicy codecell/codecell") ?? {};
    const text = JSON.stringify(spec);
    const blocks = [...text.matchAll(/"ipBlock":(\{[^}]*\})/g)].map(([, block = ""]) => JSON.parse(block));
    expect(blocks).toEqual([{ cidr }, { cidr }, { cidr, except }]);
  });

  test("the kubelet's probes ask for paths that need no token, with a name that the gateways know", () => {
    const { containers } = podOf(chartObjects());
    const open = routes.filter(({ scope, method }) => scope === "none" && method === "GET").map(({ path }) => path);
    for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"] as const) {
      const { path, httpHeaders } = containers[0]?.[probe].httpGet ?? {};
      expect(open).toContain(path);
      expect(httpHeaders).toEqual([{ name: "Host", value: "localhost" }]);
    }
  });

  test("the gateways start with options that `codecell serve` has, and with a policy that is valid", () => {
    for (const values of [undefined, manyValues]) {
      const all = chartObjects(values);
      const [, ...argv] = podOf(all).containers[0]?.args ?? [];
      expect(parseArguments("serve", argv, serveOptions, 0).values).toMatchObject({ runner: "kubernetes" });
      const policy = all.get("ConfigMap codecell/codecell-policy")?.data?.["sandbox.policy.yaml"] ?? "";
      expect(parsePolicy(parse(policy)).isolation.minimum).toBe("container");
    }
  });
});

function isDescribed({ key, value }: Pair): boolean {
  const above = (node: unknown) => (node as { commentBefore?: string | null } | null)?.commentBefore;
  const first = isMap(value) ? value.items[0] : undefined;
  return Boolean(above(key) || (isMap(value) && value.commentBefore) || (isPair(first) && above(first.key)));
}

/** The paths of all values, groups too. */
function pathsOf(values: object, prefix = ""): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const isGroup = typeof value === "object" && value !== null && !Array.isArray(value);
    return [prefix + name, ...(isGroup ? pathsOf(value, `${prefix}${name}.`) : [])];
  });
}

function valueAt(path: string, value: unknown): Record<string, unknown> {
  return path.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Record<string, unknown>;
}
