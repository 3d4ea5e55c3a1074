import { expect, test } from "vitest";
import { declaredIsolation, hasOwnLoopback, isMeantForCells, kubernetesSettings } from "./settings.ts";

test("an empty environment gives the strictest defaults", () => {
  expect(kubernetesSettings({})).toEqual({
    ...{ namespace: undefined, image: undefined, context: undefined, runtimeClass: undefined, pullPolicy: undefined },
    ...{
      nodeSelector: {},
      network: "auto",
      channel: "auto",
      claims: "auto",
      startMs: 60_000,
      requests: { cpu: 0.1, memory: 0.25 },
    },
  });
});

test("every setting is read from its variable", () => {
  const settings = kubernetesSettings({
    CODECELL_KUBERNETES_NAMESPACE: "cells",
    CODECELL_KUBERNETES_IMAGE: "python:3.12",
    CODECELL_KUBERNETES_CONTEXT: "admin@prod",
    CODECELL_KUBERNETES_RUNTIME_CLASS: "gvisor",
    CODECELL_KUBERNETES_NODE_SELECTOR: "pool=cells, disk=ssd",
    CODECELL_KUBERNETES_PULL_POLICY: "Never",
    CODECELL_KUBERNETES_NETWORK: "policy",
    CODECELL_KUBERNETES_CHANNEL: "attach",
    CODECELL_KUBERNETES_CLAIMS: "on",
    CODECELL_KUBERNETES_START_TIMEOUT: "90s",
    CODECELL_KUBERNETES_REQUESTS: "memory=1",
  });
  expect(settings).toEqual({
    ...{ namespace: "cells", image: "python:3.12", context: "admin@prod", runtimeClass: "gvisor", pullPolicy: "Never" },
    ...{ nodeSelector: { pool: "cells", disk: "ssd" }, network: "policy", channel: "attach", claims: "on" },
    startMs: 90_000,
    requests: { cpu: 0.1, memory: 1 },
  });
});

test.each([
  ["NAMESPACE", "../kube-system"],
  ["RUNTIME_CLASS", "a b"],
  ["NODE_SELECTOR", "pool"],
  ["PULL_POLICY", "never"],
  ["NETWORK", "none"],
  ["CHANNEL", "exec"],
  ["CLAIMS", "yes"],
  ["START_TIMEOUT", "-1"],
  ["REQUESTS", "cpu=2"],
])("a wrong value of %s is an error and not ignored", (name, value) => {
  expect(() => kubernetesSettings({ [`CODECELL_KUBERNETES_${name}`]: value })).toThrow(
    `CODECELL_KUBERNETES_${name} is`,
  );
});

test("auto considers a cluster only if a namespace is set aside for cells", () => {
  expect(isMeantForCells({ KUBECONFIG: "/somewhere" })).toBe(false);
  expect(isMeantForCells({ CODECELL_KUBERNETES_NAMESPACE: "cells" })).toBe(true);
});

test("only a class of gVisor stands for an OS kernel of its own", () => {
  expect([undefined, "gvisor", "runsc-fast", "kata", "fast"].map(declaredIsolation)).toEqual([
    ...["container", "gvisor", "gvisor", "container", "container"],
  ]);
});

test("pods of gVisor and Kata have a loopback interface that no kubelet reaches", () => {
  const classes = [undefined, "gvisor", "runsc-fast", "kata-qemu", "fast"];
  expect(classes.filter(hasOwnLoopback)).toEqual(["gvisor", "runsc-fast", "kata-qemu"]);
});
