import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readHostFacts } from "./host-facts.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "host-facts-test-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

test("readHostFacts describes an Ubuntu with its AppArmor rule and a setuid bubblewrap", async () => {
  await put("/etc/os-release", 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE="debian"\nVERSION_ID=24.04\n');
  await put("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
  await put("/proc/sys/kernel/unprivileged_userns_clone", "1\n");
  await put("/proc/sys/user/max_user_namespaces", "62000\n");
  await put("/proc/self/uid_map", "         0          0 4294967295\n");
  await put("/usr/bin/bwrap", "");
  await chmod(join(root, "/usr/bin/bwrap"), 0o4755);
  expect(await readHostFacts(root)).toMatchObject({
    distributions: ["ubuntu", "debian"],
    apparmorRestrictsUserns: true,
    unprivilegedUsernsClone: true,
    maxUserNamespaces: 62_000,
    bubblewrap: "/usr/bin/bwrap",
    bubblewrapIsSetuid: true,
    container: undefined,
    isNested: false,
    isWsl1: false,
  });
});

test.each([
  ["/.dockerenv", "", "docker"],
  ["/run/.containerenv", "", "podman"],
  ["/proc/1/cgroup", "1:memory:/kubepods/besteffort/pod1\n", "kubernetes"],
  ["/proc/1/cgroup", "1:memory:/docker/abc\n", "docker"],
  ["/proc/1/cgroup", "0::/lxc/one\n", "other"],
  ["/proc/1/cgroup", "0::/init.scope\n", undefined],
])("readHostFacts detects a container, or none, from %s with the content %j", async (path, text, container) => {
  await put(path, text);
  expect((await readHostFacts(root)).container).toBe(container);
});

test("readHostFacts tells WSL 1 from WSL 2", async () => {
  await put("/proc/version", "Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com)");
  expect((await readHostFacts(root)).isWsl1).toBe(true);
  await put("/proc/version", "Linux version 5.15.90.1-microsoft-standard-WSL2 (oe-user@oe-host)");
  expect((await readHostFacts(root)).isWsl1).toBe(false);
});

test("readHostFacts takes a partial uid map as a sign of another sandbox", async () => {
  await put("/proc/self/uid_map", "      1000       1000          1\n");
  expect((await readHostFacts(root)).isNested).toBe(true);
});

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}
