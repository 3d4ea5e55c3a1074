import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { test } from "vitest";
import { imageDisk } from "./image-disk.ts";
import { tryImages } from "./image-support.ts";
import { releaseDisk, removeDisk } from "./session-disk.ts";
import { SessionDisks } from "./session-disks.ts";

test("x", async () => {
  const d = await mkdtemp("/tmp/dkt-");
  const t = async (n: string, f: () => Promise<any>) => {
    const b = performance.now();
    const r = await f();
    console.log(n, (performance.now() - b).toFixed(1));
    return r;
  };
  console.log(await t("try", () => tryImages(d)));
  await mkdir(d + "/ws");
  await mkdir(d + "/run");
  const disks = new SessionDisks({ runtimeDir: d + "/run" });
  for (const mb of [1, 16, 64, 256, 1024]) {
    const p = await t("open " + mb, () => disks.open({ root: d + "/ws", name: "a" + mb }, mb << 20));
    console.log(
      mb,
      (await imageDisk(p.directory).leftBytes()) / 2 ** 20,
      execFileSync("df", ["-i", p.directory]).toString().split("\n")[1],
      execFileSync("du", ["-k", p.directory + ".img"]).toString(),
    );
    await p.letGo();
    await t("release", () => releaseDisk({ root: d + "/ws", name: "a" + mb }));
    await t("remove", () => removeDisk({ root: d + "/ws", name: "a" + mb }));
  }
  for (let i = 0; i < 3; i++) {
    const p = await t("again", () => disks.open({ root: d + "/ws", name: "b" + i }, 256 << 20));
    await p.letGo();
    await new Promise((r) => setTimeout(r, 200));
    await t("remove", () => removeDisk({ root: d + "/ws", name: "b" + i }));
  }
  await disks[Symbol.asyncDispose]();
  console.log(execFileSync("find", [d]).toString(), execFileSync("losetup", ["-a"]).toString());
  await rm(d, { recursive: true });
}, 60000);
