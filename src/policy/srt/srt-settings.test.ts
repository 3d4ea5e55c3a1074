import { expect, test } from "vitest";
import { parsePolicy } from "../file/parse-policy.ts";
import { ruleNames } from "../rules.ts";
import type { PolicyInput } from "../schema.ts";
import { type SrtPaths, srtSettings } from "./srt-settings.ts";

const paths: SrtPaths = {
  platform: "linux",
  programs: ["/usr", "/opt/node/bin/node"],
  stateDir: "/state",
  denied: [],
};

function exported(policy: PolicyInput = {}, more: Partial<SrtPaths> = {}) {
  return srtSettings(parsePolicy(policy, { baseDir: "/project" }), { ...paths, ...more });
}
const literal = (...list: string[]) => list.map((path) => ({ path, literal: true }));
const noteOn = (rule: string, policy: PolicyInput = {}, more: Partial<SrtPaths> = {}) =>
  exported(policy, more).notes.find(({ rules }) => rules.includes(rule))?.note;

test("allowedDomains is empty unless the policy opens the network, and names ports 80 and 443", () => {
  const allowlist = ["packages.example", "git.example.com:22"];
  expect(exported({ net: { allowlist } }).settings.network.allowedDomains).toEqual([]);
  expect(exported({ net: { enabled: true, allowlist } }).settings.network.allowedDomains).toEqual([
    "packages.example:80",
    "packages.example:443",
    "git.example.com:22",
  ]);
});

test("deniedDomains has the hosts of net.deny, on every port", () => {
  const net = { enabled: true, allowlist: ["*.example.com"], deny: ["bad.example.com"] };
  expect(exported({ net }).settings.network.deniedDomains).toEqual(["bad.example.com"]);
});

test("deniedResolvedAddresses keeps allowed names out of private networks", () => {
  const { deniedResolvedAddresses } = exported({ net: { enabled: true, allowlist: ["a.example"] } }).settings.network;
  expect(deniedResolvedAddresses).toContain("10.0.0.0/8");
  expect(deniedResolvedAddresses).toContain("fc00::/7");
});

test("Unix sockets stay closed unless an engine is used; on Linux that opens all of them, and a note says so", () => {
  expect(exported().settings.network).toMatchObject({ allowUnixSockets: [], allowAllUnixSockets: false });
  const engineSocket = "/var/run/docker.sock";
  const { settings, notes } = exported({}, { engineSocket });
  expect(settings.network).toMatchObject({ allowUnixSockets: [engineSocket], allowAllUnixSockets: true });
  expect(settings.filesystem.allowRead).toContainEqual({ path: engineSocket, literal: true });
  expect(notes.map(({ note }) => note).join("\n")).toMatch(/every Unix socket[\s\S]*|become root/);
  const mac = exported({}, { engineSocket, platform: "darwin" }).settings.network;
  expect(mac).toMatchObject({ allowUnixSockets: [engineSocket], allowAllUnixSockets: false });
});

test("denyRead closes the whole root on Linux, and home directories on macOS", () => {
  expect(exported().settings.filesystem.denyRead).toEqual(["/"]);
  expect(exported({}, { platform: "darwin" }).settings.filesystem.denyRead).toContain("/Users");
});

test("denyRead hides deny globs at the top of an opened directory, and the denied files found below", () => {
  const policy = { fs: { load: ["./"], deny: ["*.secret", "!.env*"] } };
  const { denyRead } = exported(policy, { denied: ["/project/a/[x].pem"] }).settings.filesystem;
  expect(denyRead).toContain("/project/*.secret");
  expect(denyRead).toContain("/project/.ssh");
  expect(denyRead).toContain("/project/id_rsa*");
  expect(denyRead).not.toContain("/project/.env*");
  expect(denyRead).toContainEqual({ path: "/project/a/[x].pem", literal: true });
});

test("denyRead leaves the policy file readable to the server", () => {
  const { denyRead } = exported({ fs: { load: ["./"] } }).settings.filesystem;
  expect(denyRead.filter((entry) => String(entry).includes("sandbox.policy"))).toEqual([]);
});

test("denyRead has no pattern below a directory whose own name would be read as one", () => {
  expect(exported({ fs: { load: ["/data[1]"] } }).settings.filesystem.denyRead).toEqual(["/"]);
});

test("allowRead lists the programs, the state, the policy file and what the policy opens, and nothing else", () => {
  const fs = { load: ["/data"], deps: "/deps", mounts: [{ source: "/m", target: "/m" }] };
  const { allowRead } = exported({ fs }, { policyFile: "/project/sandbox.policy.yaml" }).settings.filesystem;
  const expected = [...paths.programs, "/project/sandbox.policy.yaml", "/state", "/deps", "/m", "/data"];
  expect(allowRead).toEqual(literal(...expected));
});

test("allowWrite lists the state directory and what the policy opens for writing", () => {
  expect(exported().settings.filesystem.allowWrite).toEqual(literal("/state"));
  expect(exported({}, { runtimeDir: "/runtime" }).settings.filesystem.allowWrite).toEqual(
    literal("/state", "/runtime"),
  );
  const mounts = [
    { source: "/out", target: "/out", mode: "rw" as const },
    { source: "/in", target: "/in" },
  ];
  const { allowWrite } = exported({ fs: { workspace: "/work", mounts } }).settings.filesystem;
  expect(allowWrite).toEqual(literal("/state", "/work", "/out"));
});

test("denyWrite keeps the server from rewriting its policy", () => {
  const { denyWrite } = exported({}, { policyFile: "/project/sandbox.policy.yaml" }).settings.filesystem;
  expect(denyWrite).toEqual(literal("/project/sandbox.policy.yaml"));
});

test("settings that would weaken srt stay off", () => {
  expect(exported().settings).toMatchObject({ allowNestedUserNamespaces: false, enableWeakerNestedSandbox: false });
});

test("notes name every limit that srt does not enforce", () => {
  for (const rule of ruleNames.filter((name) => name.startsWith("proc."))) expect(noteOn(rule)).toMatch(/no limits/);
  for (const rule of ruleNames.filter((name) => name.startsWith("session.")))
    expect(noteOn(rule)).toMatch(/enforced by/);
});

test("notes name the runner that works inside srt, and say that a stronger minimum is refused", () => {
  expect(noteOn("isolation.minimum")).toMatch(/wasm runner/);
  expect(noteOn("isolation.minimum", { isolation: { minimum: "process" } })).toMatch(/refused/);
});

test("notes list what is open to the whole server", () => {
  const fs = { workspace: "/work", deps: "/deps", load: ["/data"], mounts: [{ source: "/m", target: "/m" }] };
  for (const rule of ["fs.workspace", "fs.deps", "fs.load", "fs.mounts"]) {
    expect(noteOn(rule, { fs })).toMatch(/whole server/);
    expect(noteOn(rule)).toBeUndefined();
  }
  expect(noteOn("fs.deny", { fs })).toMatch(/when these settings were made/);
  expect(noteOn("net.enabled", { net: { enabled: true, allowlist: ["a.example"] } })).toMatch(/whole server/);
  expect(noteOn("kernel.python", { kernel: { python: "/usr/bin/python3" } })).toMatch(/wasm runner/);
});

test("notes list paths that the policy opens for writing and srt makes read-only", () => {
  const fs = { workspace: "/data/out", load: ["/data"] };
  const notes = exported({ fs }).notes.map(({ note }) => note);
  expect(notes).toContain("/data/out is read-only inside srt, because /data is open for reading");
  expect(
    exported({ fs: { ...fs, load: ["/data/out"] } })
      .notes.map(({ note }) => note)
      .join(),
  ).not.toMatch(/read-only/);
});
