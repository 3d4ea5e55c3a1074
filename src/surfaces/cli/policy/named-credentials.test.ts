import { mkdir, mkdtemp, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import { denyMatcher } from "../../../policy/paths/deny.ts";
import { denyNamedCredentials } from "./named-credentials.ts";

let cwd: string;
beforeEach(async () => {
  cwd = await realpath(await mkdtemp(join(tmpdir(), "codecell-named-")));
});
afterEach(() => rm(cwd, { recursive: true }));

const policyFor = (env: Record<string, string>, deny: string[] = []) =>
  denyNamedCredentials(parsePolicy({ fs: { deny } }), { env, cwd });
const denies = async (env: Record<string, string>, path: string, deny: string[] = []) =>
  denyMatcher((await policyFor(env, deny)).fs.deny)(path) !== undefined;

test.each([
  ["AWS_SHARED_CREDENTIALS_FILE", "/srv/keys/aws.txt", "/srv/keys/aws.txt"],
  ["CLOUDSDK_CONFIG", "/srv/cloud", "/srv/cloud/credentials.db"],
  ["GNUPGHOME", "/srv/gpg", "/srv/gpg/secring.gpg"],
  ["XDG_CONFIG_HOME", "/srv/settings", "/srv/settings/gcloud/credentials.db"],
  ["XDG_CONFIG_HOME", "/srv/settings", "/srv/settings/gh/hosts.yml"],
  ["XDG_DATA_HOME", "/srv/data", "/srv/data/keyrings/login.keyring"],
  ["CARGO_HOME", "/srv/cargo", "/srv/cargo/credentials.toml"],
  ["KUBECONFIG", "/srv/one:/srv/two", "/srv/two"],
  ["DOCKER_CONFIG", "/srv/odd [name]{x}", "/srv/odd [name]{x}/config.json"],
])("what %s=%s names is denied: %s", async (name, value, path) => {
  expect(await denies({}, path)).toBe(false);
  expect(await denies({ [name]: value }, path)).toBe(true);
});

test("a relative path starts from the current directory, and a link denies its target too", async () => {
  await mkdir(join(cwd, "real"));
  await symlink("real", join(cwd, "link"));
  expect(await denies({ GNUPGHOME: "link" }, join(cwd, "link", "key"))).toBe(true);
  expect(await denies({ GNUPGHOME: "link" }, join(cwd, "real", "key"))).toBe(true);
});

test("neighbours of what a variable names stay open", async () => {
  expect(await denies({ XDG_CONFIG_HOME: "/srv/settings" }, "/srv/settings/app/a.txt")).toBe(false);
  expect(await denies({ GNUPGHOME: "/" }, "/srv/a.txt")).toBe(false);
});

test("the policy can keep such a path open, and a place that is denied anyway is not listed twice", async () => {
  expect(await denies({ GNUPGHOME: "/srv/gpg" }, "/srv/gpg/x", ["!//srv/gpg"])).toBe(false);
  expect(
    (await policyFor({ XDG_CONFIG_HOME: "/home/someone/.config", GNUPGHOME: "/home/someone/.gnupg" })).fs.deny,
  ).toEqual([]);
});
