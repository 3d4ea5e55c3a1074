import { expect, test } from "vitest";
import { explainBubblewrapFailure } from "./explain-failure.ts";
import type { HostFacts } from "./host-facts.ts";

const healthy: HostFacts = {
  platform: "linux",
  isRoot: false,
  distributions: ["debian"],
  isWsl1: false,
  bubblewrap: "/usr/bin/bwrap",
  bubblewrapIsSetuid: false,
  apparmorRestrictsUserns: false,
  unprivilegedUsernsClone: undefined,
  maxUserNamespaces: 15_000,
  container: undefined,
  isNested: false,
};
const denied = "bwrap: No permissions to create new namespace, likely because the kernel does not allow it.\n";
const uidMapDenied = "bwrap: setting up uid map: Permission denied\n";

const cases: readonly (readonly [string, string, Partial<HostFacts>, RegExp, RegExp])[] = [
  ["macOS", "", { platform: "darwin" }, /needs Linux, but this is macOS/, /the wasm runner/],
  ["Windows", "", { platform: "win32" }, /this is win32/, /wasm/],
  ["WSL 1", "", { isWsl1: true }, /WSL 1/, /wsl --set-version/],
  ["Debian without bubblewrap", "", { bubblewrap: undefined }, /not installed/, /sudo apt install bubblewrap/],
  [
    "Ubuntu without bubblewrap",
    "",
    { bubblewrap: undefined, distributions: ["ubuntu", "debian"] },
    /not installed/,
    /apt install/,
  ],
  [
    "Fedora without bubblewrap",
    "",
    { bubblewrap: undefined, distributions: ["fedora"] },
    /not installed/,
    /dnf install/,
  ],
  [
    "Rocky without bubblewrap",
    "",
    { bubblewrap: undefined, distributions: ["rocky", "rhel"] },
    /not installed/,
    /dnf install/,
  ],
  ["Arch without bubblewrap", "", { bubblewrap: undefined, distributions: ["arch"] }, /not installed/, /pacman -S/],
  ["Alpine without bubblewrap", "", { bubblewrap: undefined, distributions: ["alpine"] }, /not installed/, /apk add/],
  [
    "an unknown system without bubblewrap",
    "",
    { bubblewrap: undefined, distributions: [] },
    /not installed/,
    /the package bubblewrap/,
  ],
  ["an old bubblewrap", "bwrap: Unknown option --clearenv\n", {}, /too old/, /0\.5 or newer/],
  [
    "Ubuntu's AppArmor rule",
    uidMapDenied,
    { apparmorRestrictsUserns: true },
    /AppArmor/,
    /apparmor_parser -r \/etc\/apparmor\.d\/bwrap/,
  ],
  [
    "Debian's user namespace setting",
    denied,
    { unprivilegedUsernsClone: false },
    /unprivileged_userns_clone = 0/,
    /sysctl -w kernel\.unprivileged_userns_clone=1/,
  ],
  [
    "disabled user namespaces",
    denied,
    { maxUserNamespaces: 0 },
    /max_user_namespaces = 0/,
    /sysctl -w user\.max_user_namespaces/,
  ],
  [
    "Docker",
    denied,
    { container: "docker" },
    /docker container forbids/,
    /docker run --security-opt seccomp=unconfined/,
  ],
  ["Podman", denied, { container: "podman" }, /podman container forbids/, /podman run .*unmask=ALL/],
  ["Kubernetes", denied, { container: "kubernetes" }, /kubernetes container/, /seccompProfile/],
  ["another container", denied, { container: "other" }, /this container forbids/, /security-opt/],
  ["another sandbox", denied, { isNested: true }, /another sandbox/, /outside that sandbox/],
  [
    "a sandbox that disabled user namespaces",
    denied,
    { isNested: true, maxUserNamespaces: 0 },
    /another sandbox/,
    /outside/,
  ],
  ["an unknown error", "bwrap: Something new\n", {}, /bubblewrap failed: bwrap: Something new/, /bwrap --unshare-user/],
];

test.each(cases)("a failure of bubblewrap is explained with its fix: %s", (_, stderr, facts, reason, hint) => {
  const failure = explainBubblewrapFailure(stderr, { ...healthy, ...facts });
  expect(failure.reason).toMatch(reason);
  expect(failure.hint).toMatch(hint);
});

test("AppArmor is blamed only for failures that it causes", () => {
  const failure = explainBubblewrapFailure("bwrap: Can't find source path /x\n", {
    ...healthy,
    apparmorRestrictsUserns: true,
  });
  expect(failure.reason).toContain("Can't find source path");
});
