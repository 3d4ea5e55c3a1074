import type { HostFacts } from "./host-facts.ts";

export interface BubblewrapFailure {
  readonly reason: string;
  /** the exact fix */
  readonly hint: string;
}

const elsewhere = "or use the wasm runner, which needs nothing from the host";

/** Pure: why bubblewrap does not work here, and the fix. It returns the first cause that matches, most certain first. */
export function explainBubblewrapFailure(stderr: string, facts: HostFacts): BubblewrapFailure {
  if (facts.platform !== "linux") {
    return {
      reason: `the process runner needs Linux, but this is ${facts.platform === "darwin" ? "macOS" : facts.platform}`,
      hint: "use the wasm runner, or a Linux machine",
    };
  }
  if (facts.isWsl1) {
    return {
      reason: "WSL 1 has no Linux kernel, so no namespaces",
      hint: "convert it to WSL 2: wsl --set-version <distribution> 2",
    };
  }
  if (facts.bubblewrap === undefined) {
    return { reason: "bubblewrap is not installed", hint: `${installCommand(facts.distributions)}, ${elsewhere}` };
  }
  if (/unknown option/i.test(stderr)) {
    const hint = `install bubblewrap 0.5 or newer from your distribution's backports, ${elsewhere}`;
    return { reason: "this bubblewrap is too old", hint };
  }
  // these settings apply inside containers too, so they come first
  if (facts.maxUserNamespaces === 0 && !facts.container && !facts.isNested) {
    return {
      reason: "user namespaces are disabled (user.max_user_namespaces = 0)",
      hint: "run `sudo sysctl -w user.max_user_namespaces=15000`, and add the setting to /etc/sysctl.d/ to keep it",
    };
  }
  if (facts.unprivilegedUsernsClone === false && !facts.bubblewrapIsSetuid) {
    return {
      reason: "unprivileged user namespaces are disabled (kernel.unprivileged_userns_clone = 0)",
      hint: "run `sudo sysctl -w kernel.unprivileged_userns_clone=1`, and add the setting to /etc/sysctl.d/ to keep it",
    };
  }
  if (facts.apparmorRestrictsUserns && /permission denied|operation not permitted|uid map|loopback/i.test(stderr)) {
    return {
      reason: "AppArmor blocks user namespaces for programs without a profile (Ubuntu 23.10 and later)",
      hint: appArmorFix(facts.bubblewrap),
    };
  }
  if (facts.container) return explainContainer(facts.container, stderr);
  if (facts.maxUserNamespaces === 0 || facts.isNested) {
    return {
      reason: `codecell runs inside another sandbox, which forbids namespaces${quoted(stderr)}`,
      hint: `start codecell outside that sandbox, ${elsewhere}`,
    };
  }
  return {
    reason: `bubblewrap failed${quoted(stderr)}`,
    hint: `run \`bwrap --unshare-user --ro-bind / / true\` to see the error, ${elsewhere}`,
  };
}

function explainContainer(container: NonNullable<HostFacts["container"]>, stderr: string): BubblewrapFailure {
  const reason = `this ${container === "other" ? "container" : `${container} container`} forbids namespaces${quoted(stderr)}`;
  if (container === "kubernetes") {
    const hint =
      "set securityContext: { seccompProfile: { type: Unconfined }, procMount: Unmasked } with hostUsers: false";
    return { reason, hint: `${hint}, ${elsewhere}` };
  }
  const options =
    "--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined";
  const program = container === "podman" ? "podman" : "docker";
  const flags = container === "podman" ? "--security-opt seccomp=unconfined --security-opt unmask=ALL" : options;
  return { reason, hint: `start it with ${program} run ${flags}, ${elsewhere}` };
}

function appArmorFix(path: string): string {
  const lines = [
    "abi <abi/4.0>,",
    "include <tunables/global>",
    `profile bwrap ${path} flags=(unconfined) {`,
    "  userns,",
    "}",
  ];
  const file = "/etc/apparmor.d/bwrap";
  return `printf '${lines.join("\\n")}\\n' | sudo tee ${file} && sudo apparmor_parser -r ${file}`;
}

function installCommand(distributions: readonly string[]): string {
  const commands: readonly (readonly [string, string])[] = [
    ["debian", "sudo apt install bubblewrap"],
    ["ubuntu", "sudo apt install bubblewrap"],
    ["fedora", "sudo dnf install bubblewrap"],
    ["rhel", "sudo dnf install bubblewrap"],
    ["arch", "sudo pacman -S bubblewrap"],
    ["alpine", "sudo apk add bubblewrap"],
    ["opensuse", "sudo zypper install bubblewrap"],
    ["suse", "sudo zypper install bubblewrap"],
  ];
  const known = commands.find(([name]) => distributions.includes(name));
  return known?.[1] ?? "install the package bubblewrap (apt, dnf, pacman, apk or zypper)";
}

function quoted(stderr: string): string {
  const line = stderr.trim().split("\n").at(-1)?.slice(0, 300);
  return line ? `: ${line}` : "";
}
