import { describe, expect, test } from "vitest";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import { cellRuleNames } from "../../policy/rules.ts";
import type { PolicyInput } from "../../policy/schema.ts";
import { type ContainerFacts, planContainer } from "./plan.ts";

type EngineFacts = ContainerFacts["engine"];

function facts(other: Partial<ContainerFacts> = {}, engine: Partial<EngineFacts> = {}): ContainerFacts {
  return {
    engine: {
      ...{ name: "Docker", version: "28.0", cgroupVersion: "2", seccomp: true, isRootless: false },
      ...{ isLocal: true, remapsUsers: false, labelsFiles: false, processors: 4 },
      limits: { memory: true, swap: true, pids: true, cpus: true, sockets: false },
      ...engine,
    },
    ...{ runtime: undefined, hasOwnKernel: false, image: "codecell-python:1", imageId: "sha256:1" },
    hasSessionDirectory: false,
    ...other,
  };
}

const plan = (policy: PolicyInput, given = facts()) => planContainer(parsePolicy(policy), given);
const refused = (policy: PolicyInput, given?: ContainerFacts) => plan(policy, given).refused.map(({ rule }) => rule);
const answer = (rule: string, policy: PolicyInput = {}, given = facts()) =>
  plan(policy, given).rules.find((one) => one.rule === rule);

describe("the plan of a container", () => {
  test("has one row per rule of a cell, and refuses no rule of the empty policy", () => {
    const { rules, refused } = plan({});
    expect(rules.map(({ rule }) => rule).sort()).toEqual([...cellRuleNames].sort());
    expect(refused).toEqual([]);
  });

  test("says that the proxy enforces an enabled network, and the OS a disabled one", () => {
    expect(answer("net.enabled", { net: { enabled: true } })).toMatchObject({ by: "proxy" });
    expect(answer("net.enabled")).toMatchObject({ by: "os" });
  });

  test.each([
    ["memory", "proc.memory"],
    ["pids", "proc.pids"],
    ["cpus", "proc.cpus"],
  ] as const)("refuses the rule if the engine cannot limit %s", (limit, rule) => {
    const limits = { memory: true, swap: true, pids: true, cpus: true, sockets: false, [limit]: false };
    expect(refused({}, facts({}, { limits }))).toEqual([rule]);
  });

  test("has a note if swap is not limited", () => {
    const unlimited = facts({}, { limits: { memory: true, swap: false, pids: true, cpus: true, sockets: false } });
    expect(answer("proc.memory", {}, unlimited)?.how).not.toContain("without swap");
    expect(plan({}, unlimited).notes.join()).toContain("cannot limit swap");
    expect(plan({}).notes.join()).not.toContain("swap");
  });

  test("says if the machine has fewer processors than the policy allows", () => {
    expect(answer("proc.cpus", { proc: { cpus: 16 } })?.how).toContain("of 4 available");
    expect(answer("proc.cpus", { proc: { cpus: 4 } })?.how).not.toContain("available");
  });

  test("has a note if user mapping is off, SELinux labels are off, or the engine is remote", () => {
    expect(plan({}, facts({}, { remapsUsers: true })).notes.join()).toContain("is asked not to for cells");
    expect(plan({}).notes.join()).not.toContain("is asked not to");
    expect(plan({}, facts({}, { isLocal: false })).notes.join()).toContain("runs on another machine");
    expect(plan({}, facts({}, { labelsFiles: true })).notes.join()).toContain("SELinux does not tell");
  });

  test("refuses an interpreter of the host and an image that the engine does not have", () => {
    expect(refused({ kernel: { python: "/usr/bin/python3" } })).toEqual(["kernel.python"]);
    const missing = plan({}, facts({ imageId: undefined })).refused;
    expect(missing).toEqual([
      expect.objectContaining({ rule: "kernel.image", hint: expect.stringContaining("codecell image build") }),
    ]);
  });

  test("says who limits memory and processes, with the host's OS kernel and with its own", () => {
    expect(answer("proc.memory")).toMatchObject({ by: "os", how: expect.stringContaining("without swap") });
    expect(answer("proc.pids")).toMatchObject({ by: "os" });
    const own = facts({ hasOwnKernel: true, runtime: "runsc" });
    expect(answer("proc.memory", {}, own)).toMatchObject({ by: "supervisor watchdog" });
    expect(answer("proc.pids", {}, own)?.how).toContain("RLIMIT_NPROC");
    expect(answer("isolation.minimum", {}, own)?.how).toBe(
      "an OS kernel of its own, by Docker 28.0 with the runtime runsc",
    );
  });

  test("says how much memory a container with its own OS kernel gets, and how socket buffers count", () => {
    const own = facts({ hasOwnKernel: true, runtime: "runsc", hasSessionDirectory: true });
    const row = answer("proc.memory", { proc: { memory: "64MiB" } }, own)?.how;
    expect(row).toContain("the container's own limit is 448MiB");
    expect(answer("proc.memory")?.how).toContain("count once they are accepted");
    const v1 = { cgroupVersion: "1", limits: { memory: true, swap: true, pids: true, cpus: true, sockets: true } };
    const policy = { proc: { memory: "64MiB" } } as const;
    expect(answer("proc.memory", policy, facts({}, v1))?.how).toContain("a limit of their own, 16MiB");
    const podman = facts({}, { ...v1, limits: { ...v1.limits, sockets: false } });
    expect(answer("proc.memory", policy, podman)?.how).toContain("not counted, but the supervisor ends");
  });

  test("says who enforces the disk limit", () => {
    expect(answer("proc.disk")).toMatchObject({ by: "os" });
    expect(answer("proc.disk", {}, facts({ hasSessionDirectory: true }))).toMatchObject({ by: "host watchdog" });
    expect(answer("proc.disk", { fs: { workspace: "/srv/project" } })).toMatchObject({ by: "host watchdog" });
  });

  test("lists in its notes what is not contained", () => {
    expect(plan({}).notes.join()).toContain("shares the host's OS kernel");
    expect(plan({}, facts({}, { seccomp: false })).notes.join()).toContain("no system call filter of its own");
    expect(plan({}, facts({}, { isRootless: true })).notes.join()).toContain("root of the container is the user");
    const own = plan({}, facts({ hasOwnKernel: true, runtime: "runsc" })).notes.join();
    expect(own).not.toContain("shares the host's OS kernel");
    expect(own).toContain("parked copies");
    expect(own).toContain("impersonate its supervisor");
  });
});
