import { expect, test } from "vitest";
import type { ClusterCheck } from "../../../sessions/cluster-diagnosis.ts";
import { plainStyle } from "../format/text/style.ts";
import { canRunCells, clusterJson, clusterText } from "./format-cluster.ts";

const where = { server: "https://10.0.0.1:6443", namespace: "cells" };
const server: ClusterCheck = { name: "api server", state: "ok", finding: "Kubernetes v1.33.1" };
const proved: ClusterCheck = { name: "cells", state: "ok", finding: "proved in pods: no-network" };
const rights: ClusterCheck = {
  ...{ name: "rights", state: "missing", finding: "missing: watch pods", fix: "add it to the Role" },
  facts: { missing: ["watch pods"] },
};

test("the report names what is missing first, and gives each fix below its finding", () => {
  const text = clusterText({ ...where, checks: [server, rights] }, plainStyle, 100);
  expect(text).toBe(`codecell cannot run cells in this cluster: see rights

  ✓  api server  Kubernetes v1.33.1
  ✗  rights      missing: watch pods
                 fix: add it to the Role

https://10.0.0.1:6443, namespace cells
`);
});

test("the report promises cells only after a probe", () => {
  const verdict = (checks: ClusterCheck[]) => clusterText({ ...where, checks }, plainStyle, 100).split("\n")[0];
  expect(verdict([server, proved])).toBe("codecell runs cells in this cluster");
  expect(verdict([server, { ...proved, state: "unknown" }])).toBe(
    "nothing is missing in this cluster; no pod was started",
  );
});

test("a warning does not make a cluster unusable, and programs get the facts of each check", () => {
  expect(canRunCells({ checks: [{ ...rights, state: "warning" }] })).toBe(true);
  expect(clusterJson({ ...where, checks: [server, rights] })).toEqual({
    ...where,
    usable: false,
    checks: [
      { ...server, fix: null },
      { name: "rights", state: "missing", finding: rights.finding, fix: rights.fix, missing: ["watch pods"] },
    ],
  });
});

test("words of the cluster cannot forge a line of the report or control the terminal", () => {
  const finding = "refused\n  ✓  rights      all\u001b[2J\u001b]52;c;eA==\u0007\u202e";
  const text = clusterText({ ...where, checks: [{ ...rights, finding, fix: "a\nb" }] }, plainStyle, 100);
  expect(text.split("\n")).toHaveLength(7);
  expect(text).not.toMatch(/[\p{Cc}\p{Cf}](?<!\n)/u);
});
