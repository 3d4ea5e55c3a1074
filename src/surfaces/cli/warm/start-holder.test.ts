import { expect, test } from "vitest";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import { warmObstacle } from "./start-holder.ts";

test("the strictest policy can have warm cells, and so can one with a network", () => {
  expect(warmObstacle(parsePolicy({}))).toBeUndefined();
  expect(warmObstacle(parsePolicy({ net: { enabled: true, allowlist: ["example.org"] } }))).toBeUndefined();
});

test("a policy with host directories has no warm cells, because a file that it hides may appear later", () => {
  expect(warmObstacle(parsePolicy({ fs: { workspace: "/srv/work" } }))).toMatch("host directories");
  expect(warmObstacle(parsePolicy({ fs: { mounts: [{ source: "/srv", target: "/data" }] } }))).toMatch(
    "host directories",
  );
});

test("a policy with secrets has no warm cells", () => {
  const policy = parsePolicy({});
  const secrets = { KEY: { from: "env:KEY", hosts: ["example.org"] } } as unknown as typeof policy.net.secrets;
  expect(warmObstacle({ ...policy, net: { ...policy.net, secrets } })).toMatch("secrets");
});
