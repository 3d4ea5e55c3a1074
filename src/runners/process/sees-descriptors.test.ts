import { describe, expect, test } from "vitest";
import { maySeeDescriptors } from "./sees-descriptors.ts";

const user = "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nSeccomp:\t0\n";
const root = "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n";
const inContainer = "Uid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\nSeccomp:\t2\n";

describe("maySeeDescriptors", () => {
  const see = (status: string, release = "6.1.0-18-amd64", ptraceScope = "1\n") =>
    maySeeDescriptors({ status, release, ptraceScope });

  test("root and an ordinary user can look at the open files of cells", () => {
    expect([see(root), see(user)]).toEqual([true, true]);
  });

  test("a container's root without CAP_SYS_PTRACE cannot, nor a user under a system call filter", () => {
    expect([see(inContainer), see(user.replace("Seccomp:\t0", "Seccomp:\t2"))]).toEqual([false, false]);
  });

  test("nobody can before Linux 5.6, or where ptrace is switched off", () => {
    expect([see(root, "5.4.0-42-generic"), see(root, "4.19.0"), see(user, "6.1.0", "3\n")]).toEqual([
      false,
      false,
      false,
    ]);
    expect(see(root, "5.15.0")).toBe(true);
  });
});
