import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Probe } from "../../../src/runners/runner.ts";
import { findProgram } from "../../support/find-program.ts";

const packages: Readonly<Record<string, string>> = {
  ...{ bwrap: "bubblewrap", setpriv: "util-linux", nsenter: "util-linux", openssl: "openssl", ip: "iproute2" },
};

/** Whether this machine can run the pods of the double: the reason and the fix otherwise. */
export async function doubleAvailability(): Promise<Probe> {
  const missing = Object.keys(packages).find((name) => findProgram(name) === undefined);
  if (process.platform !== "linux" || missing !== undefined) {
    const name = missing ?? "bwrap";
    const hint = `apt install ${packages[name]}`;
    return { available: false, reason: `${name} is not installed, which runs the pods of the fake cluster`, hint };
  }
  try {
    const flags = ["--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "--", "/bin/true"];
    await promisify(execFile)("bwrap", flags, { timeout: 10_000 });
  } catch (error) {
    const reason = `bubblewrap does not start here: ${String(error).split("\n")[0]}`;
    return { available: false, reason, hint: "allow user namespaces, or run the tests as root" };
  }
  return { available: true, version: "fake", guarantees: [] };
}
