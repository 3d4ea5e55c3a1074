import { spawnSync } from "node:child_process";

/** The Python that the kernel's own tests run with. Undefined if this machine has none. */
export function findPython() {
  return ["/usr/bin/python3", "python3"].find((name) => spawnSync(name, ["--version"]).status === 0);
}
