import { join } from "node:path";
import { run } from "../command.js";

/**
 * The minor version of a build: 20 for Kubernetes 1.20. The programs of one build have one version.
 * @param {string} build
 */
export async function minorVersion(build) {
  const said = await run([join(build, "bin", "kubelet"), "--version"]);
  const [, minor] = /v1\.(\d+)/.exec(said) ?? [];
  if (minor === undefined) throw new Error(`${join(build, "bin", "kubelet")} has no version of Kubernetes 1: ${said}`);
  return Number(minor);
}
