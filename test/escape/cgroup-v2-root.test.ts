import { mkdirSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseMountinfo } from "../../src/lib/files/mountinfo.ts";
import { openCells, ownCells, run, skipsProcess } from "../support/process-cells.ts";

/**
 * Codecell as root moves its cells, which have another uid, into groups of cgroup v2. This tree may have no controllers, as on a
 * machine that uses v1 for them. So these tests show that every process is in its cell's group, and not that limits hold.
 */
const mounts = process.platform === "linux" ? parseMountinfo(readFileSync("/proc/self/mountinfo", "utf8")) : [];
const unified = mounts.find(({ type, superOptions }) => type === "cgroup2" && superOptions.includes("rw"))?.point;
const isRoot = process.getuid?.() === 0;
const reason = unified === undefined ? " (no cgroup v2 here)" : isRoot ? "" : " (not root)";

describe.skipIf(skipsProcess || reason !== "").each(["template", "direct"] as const)(
  `codecell as root on cgroup v2, %s layout${reason}`,
  (layout) => {
    const name = `codecell-test-${process.pid}-${layout}`;
    const dir = join(unified ?? "", name);
    beforeAll(() => mkdirSync(dir));
    afterAll(() => rmdirSync(dir)); // fails if a cell left a group behind

    test("has every process of a cell in the cell's own group, and removes the group with the cell", async () => {
      const cgroups = { kind: "v2", dir, controllers: new Set<never>() } as const;
      await using codecell = await openCells({ name: layout, options: { layout, cgroups } });
      await using session = await codecell.openSession();
      await using other = await codecell.openSession();
      expect(await run(other, "1 + 1")).toMatchObject({ status: "ok", value: "2" });
      const going = session.run("import os, time\npid = os.fork()\nprint('on', flush=True)\ntime.sleep(60)");
      for await (const _ of going) break;
      const cells = ownCells(process.pid, layout === "direct" ? 2 : 3);
      const groups = cells.map(({ pid }) => groupOf(pid));
      expect(new Set(groups).size).toBe(2); // a group for each session
      for (const group of groups) {
        expect(group).toMatch(layout === "direct" ? /\/cc[0-9a-f]+-\d+$/ : /\/cc[0-9a-f]+-t\d+\/cc[0-9a-f]+-\d+$/);
        expect(membersOf(group).length).toBeGreaterThanOrEqual(2); // the supervisor and its worker
      }
      // the run's child is there too, although only the supervisor was moved
      expect(Math.max(...groups.map((group) => membersOf(group).length))).toBeGreaterThanOrEqual(3);
    });

    test("leaves no group behind", () => {
      expect(readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory())).toEqual([]);
    });

    function membersOf(group: string): string[] {
      const from = group.indexOf(name);
      return readFileSync(join(unified ?? "", group.slice(from), "cgroup.procs"), "utf8")
        .split("\n")
        .filter(Boolean);
    }
  },
);

/** The v2 group of a process: `0::/path`. */
function groupOf(pid: number): string {
  return /^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, "utf8"))?.[1] ?? "";
}
