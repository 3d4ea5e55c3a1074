#!/usr/bin/env node
// Renders the chart with Helm into deploy/manifests/codecell.yaml, for clusters without Helm, and the record for the tests.
// Needs Helm 3 on PATH, or its path in HELM. test/deploy.test.ts fails if the chart was changed and this was not run.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const fixtures = "test/fixtures/helm/";

function render(...options) {
  const chart = at("deploy/helm/codecell");
  const helm = process.env.HELM ?? "helm";
  return execFileSync(helm, ["template", "codecell", chart, "--namespace", "codecell", ...options], {
    encoding: "utf8",
  });
}

const header = "# Made by scripts/render-chart.js from deploy/helm/codecell with its default values. Do not edit.\n";
writeFileSync(at("deploy/manifests/codecell.yaml"), header + render());
writeFileSync(
  at(`${fixtures}many-values.rendered.yaml`),
  `# What Helm renders of the chart with many-values.yaml; made by scripts/render-chart.js.\n${render("--values", at(`${fixtures}many-values.yaml`))}`,
);
