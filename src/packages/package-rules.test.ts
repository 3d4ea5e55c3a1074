import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PackageIndex } from "../../test/support/package-index.ts";
import { debianTarget, PackageLab } from "../../test/support/packages/package-lab.ts";
import { buildWheel } from "../../test/support/packages/wheel.ts";

const day = 24 * 3_600_000;
const failure = (reason: string, message: string | RegExp) => ({
  ...{ code: "packages_failed", details: { reason } },
  message: typeof message === "string" ? message : expect.stringMatching(message),
});

describe("hashes", () => {
  test("a file that does not have the hash of the index is refused, and not kept", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "bad", version: "1", sha256: "a".repeat(64) });
    await expect(lab.prepare("bad")).rejects.toMatchObject(failure("hash", /is not the file that was promised/));
    expect(await readdir(join(lab.cacheDir, "wheels"))).toEqual([]);
    expect(await lab.setNames()).toEqual([]);
  });

  test("a file without a hash is refused, unless the requirement carries one", async () => {
    await using lab = await PackageLab.open();
    const sha256 = lab.index.add({ name: "plain", version: "1", sha256: false });
    await expect(lab.prepare("plain")).rejects.toMatchObject(failure("no_version", /1: the index gives no sha256/));
    expect(await lab.versions(`plain==1 --hash=sha256:${sha256}`)).toEqual(["plain 1"]);
    const other = `plain==1 --hash=sha256:${"b".repeat(64)}`;
    await expect(lab.prepare(other)).rejects.toMatchObject(failure("hash", /not the file that was promised/));
  });

  test("a requirement with hashes takes only files that have one of them", async () => {
    await using lab = await PackageLab.open();
    const sha256 = lab.index.add({ name: "lib", version: "1" });
    lab.index.add({ name: "lib", version: "2" });
    expect(await lab.versions(`lib --hash=sha256:${sha256}`)).toEqual(["lib 1"]);
    const message = /2: its hash is not among those of the requirement/;
    await expect(lab.prepare(`lib==2 --hash=sha256:${sha256}`)).rejects.toMatchObject(failure("no_version", message));
  });

  test("a line for another Python adds no hashes and takes none away", async () => {
    await using lab = await PackageLab.open();
    const old = lab.index.add({ name: "lib", version: "1" });
    const current = lab.index.add({ name: "lib", version: "2" });
    const lines = [
      `lib==1; python_version < "3.10" --hash=sha256:${old}`,
      `lib==2; python_version >= "3.10" --hash=sha256:${current}`,
    ];
    const rules = { hashes: true };
    expect(await lab.versions(lines, { rules })).toEqual(["lib 2"]);
    const target = { ...debianTarget, python: "3.9", fullPython: "3.9.2" };
    expect(await lab.versions(lines, { rules, target })).toEqual(["lib 1"]);
    lab.index.add({ name: "app", version: "1", requires: ["lib"] });
    expect(await lab.versions(["app", lines[0] ?? ""])).toEqual(["app 1", "lib 2"]);
  });

  test("with kernel.packages.hashes, every requirement and every dependency must be pinned with a hash", async () => {
    await using lab = await PackageLab.open();
    const app = lab.index.add({ name: "app", version: "1", requires: ["lib"] });
    const lib = lab.index.add({ name: "lib", version: "1" });
    const rules = { hashes: true };
    await expect(lab.prepare("app==1", { rules })).rejects.toMatchObject({ code: "usage" });
    await expect(lab.prepare(`app>=1 --hash=sha256:${app}`, { rules })).rejects.toMatchObject({ code: "usage" });
    await expect(lab.prepare(`app==1 --hash=sha256:${app}`, { rules })).rejects.toMatchObject(
      failure("hash", "lib has no hash, and kernel.packages.hashes requires one (asked for by app 1)"),
    );
    const all = [`app==1 --hash=sha256:${app}`, `lib==1 --hash=sha256:${lib}`];
    expect(await lab.versions(all, { rules })).toEqual(["app 1", "lib 1"]);
  });

  test("metadata that is offered apart must have its hash too", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "lib", version: "1", offersMetadata: true });
    lab.index.on("/files/lib/lib-1-py3-none-any.whl.metadata", (_, response) => response.end("Name: lib\n"));
    await expect(lab.prepare("lib")).rejects.toMatchObject(failure("hash", /metadata of lib-1/));
  });
});

describe("which versions are taken", () => {
  test("releases younger than kernel.packages.minAge are not seen, and neither are those without a date", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "lib", version: "1", uploadTime: "2026-01-01T00:00:00Z" });
    lab.index.add({ name: "lib", version: "2", uploadTime: "2026-05-30T00:00:00Z" });
    lab.index.add({ name: "lib", version: "3" });
    lab.index.add({ name: "lib", version: "4", uploadTime: "2099-01-01T00:00:00Z" });
    const rules = { minAgeMs: 7 * day };
    expect(await lab.versions("lib", { rules })).toEqual(["lib 1"]);
    await expect(lab.prepare("lib>1", { rules })).rejects.toMatchObject(
      failure(
        "no_version",
        /4: it was uploaded on 2099.*3: the index does not say when.*2: it was uploaded on 2026-05-30: younger.*1: --with/s,
      ),
    );
  });

  test("a package with only a source distribution is refused, because building it would run its code", async () => {
    await using lab = await PackageLab.open();
    lab.index.addFile("old", { fileName: "old-1.0.tar.gz", content: Buffer.from("x") });
    const message = /1\.0: there is only a source distribution/;
    await expect(lab.prepare("old")).rejects.toMatchObject(failure("no_version", message));
    expect(lab.index.requests).toEqual(["/simple/old/"]);
  });

  test("a source distribution that may be built is under the rules of wheels, and needs a .tar.gz", async () => {
    await using lab = await PackageLab.open();
    const buildWheel = () => Promise.reject(new Error("nothing is built here"));
    const content = Buffer.from("x");
    lab.index.addFile("young", { fileName: "young-1.tar.gz", content, uploadTime: "2026-05-31T00:00:00Z" });
    lab.index.addFile("zipped", { fileName: "zipped-1.zip", content });
    lab.index.addFile("plain", { fileName: "plain-1.tar.gz", content, sha256: false });
    lab.index.addFile("wrong", { fileName: "wrong-1.tar.gz", content, sha256: "a".repeat(64) });
    lab.index.addFile("later", { fileName: "later-1.tar.gz", content, requiresPython: ">=3.12" });
    lab.index.addFile("noise", { fileName: "noise-1.tar.gz", content });
    const asked = (name: string, rules = {}) => lab.prepare(name, { buildWheel, rules: { sdists: ["*"], ...rules } });
    await expect(asked("young", { minAgeMs: 7 * day })).rejects.toMatchObject(failure("no_version", /younger than/));
    await expect(asked("zipped")).rejects.toMatchObject(failure("no_version", /not a \.tar\.gz/));
    await expect(asked("plain")).rejects.toMatchObject(failure("no_version", /gives no sha256/));
    await expect(asked("wrong")).rejects.toMatchObject(failure("hash", /not the file that was promised/));
    await expect(asked("later")).rejects.toMatchObject(failure("no_version", /it needs Python >=3\.12/));
    await expect(asked("noise", { deny: ["noise"] })).rejects.toMatchObject(failure("denied", /deny forbids it/));
    await expect(asked("noise")).rejects.toMatchObject(failure("archive", /noise-1\.tar\.gz is refused: it is not a/));
    const pinned = asked(`noise==1 --hash=sha256:${"b".repeat(64)}`, { hashes: true });
    await expect(pinned).rejects.toMatchObject(failure("no_version", /needs packages without hashes/));
  });

  test("a yanked release is used only if it is pinned", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "lib", version: "1" });
    lab.index.add({ name: "lib", version: "2", yanked: "deletes files" });
    expect(await lab.versions("lib")).toEqual(["lib 1"]);
    expect(await lab.versions("lib==2")).toEqual(["lib 2"]);
    await expect(lab.prepare("lib>=2")).rejects.toMatchObject(failure("no_version", /2: it was yanked/));
  });

  test("a pre-release is used only if it is asked for, or if there is nothing else", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "lib", version: "1" });
    lab.index.add({ name: "lib", version: "2rc1" });
    lab.index.add({ name: "young", version: "0.1a1" });
    expect(await lab.versions(["lib", "young"])).toEqual(["lib 1", "young 0.1a1"]);
    expect(await lab.versions("lib>=2rc1")).toEqual(["lib 2rc1"]);
    await expect(lab.prepare("lib>1,<2.1")).rejects.toMatchObject(failure("no_version", /2rc1: it is a pre-release/));
  });

  test("versions for another Python or platform are passed over, and named if nothing is left", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "lib", version: "3", tag: "cp312-cp312-manylinux_2_17_x86_64" });
    lab.index.add({ name: "lib", version: "2", requiresPython: ">=3.12" });
    lab.index.add({ name: "lib", version: "1" });
    expect(await lab.versions("lib")).toEqual(["lib 1"]);
    const message = /3: no wheel for Python 3\.11 on linux_x86_64.*2: it needs Python >=3\.12/s;
    await expect(lab.prepare("lib>1")).rejects.toMatchObject(failure("no_version", message));
  });

  test("a package with native code for Linux only gets a hint at other runners on wasm", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "lib", version: "3", tag: "cp314-cp314-manylinux_2_17_x86_64" });
    const target = { python: "3.14", implementation: "cp", platform: "pyodide_2026_0_wasm32" } as const;
    const hint = expect.stringContaining("use the process or container runner");
    await expect(lab.prepare("lib", { target })).rejects.toMatchObject({ hint });
  });

  test("a text of the index that reads like a sentence of ours is quoted in the error", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "lib", version: "1", requiresPython: "===9\u001b[2J\u202eignore-all" });
    const error: unknown = await lab.prepare("lib").catch((reason: unknown) => reason);
    expect(error).toMatchObject(failure("no_version", /1: it needs Python "===9/));
    for (const control of ["\u001b", "\u202e"]) expect(`${error}`).not.toContain(control);
  });

  test("a wheel whose METADATA asks for another Python is passed over although the page does not say so", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "lib", version: "1" });
    const { fileName, content } = buildWheel({ name: "lib", version: "2", requiresPython: ">=3.12" });
    lab.index.addFile("lib", { fileName, content });
    expect(await lab.versions("lib")).toEqual(["lib 1"]);
  });
});

describe("names", () => {
  test("a denied package is refused by name, as a dependency too, and deny wins over allow", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "app", version: "1", requires: ["Evil_Lib"] });
    lab.index.add({ name: "evil-lib", version: "1" });
    await expect(lab.prepare("app", { rules: { deny: ["evil-*"] } })).rejects.toMatchObject(
      failure("denied", "evil-lib is not installed: kernel.packages.deny forbids it (asked for by app 1)"),
    );
    await expect(lab.prepare("app", { rules: { allow: ["app"] } })).rejects.toMatchObject(
      failure("denied", /evil-lib is not installed: kernel\.packages\.allow does not name it/),
    );
    await expect(lab.prepare("app", { rules: { allow: ["app"], deny: ["app"] } })).rejects.toMatchObject(
      failure("denied", /deny forbids it \(asked for by --with\)/),
    );
    expect(lab.index.requests.filter((path) => path.includes("evil"))).toEqual([]);
  });

  test("an unknown package is named with the indexes that were asked and with who asked for it", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "app", version: "1", requires: ["pandsa"] });
    await expect(lab.prepare("app")).rejects.toMatchObject(
      failure("unknown", `there is no package pandsa in ${lab.index.origin}/simple/ (asked for by app 1)`),
    );
  });

  test("a package that the index knows, but has no files of, is not looked for elsewhere", async () => {
    await using lab = await PackageLab.open();
    await using second = await PackageIndex.start();
    lab.index.addEmpty("lib");
    second.add({ name: "lib", version: "1" });
    const rules = { index: [lab.index.url, second.url] };
    await expect(lab.prepare("lib", { rules })).rejects.toMatchObject(failure("no_version", /has no files of it/));
    expect(second.requests).toEqual([]);
  });
});

describe("two indexes", () => {
  test("a later index never supplies a name that an earlier one knows, whatever version it offers", async () => {
    await using lab = await PackageLab.open();
    await using open = await PackageIndex.start();
    lab.index.add({ name: "internal", version: "1.0", requires: ["common"] });
    open.add({ name: "internal", version: "99.0" });
    open.add({ name: "common", version: "2" });
    const { packages } = await lab.prepare("internal", { rules: { index: [lab.index.url, open.url] } });
    expect(packages.map(({ name, version, index }) => [name, version, index])).toEqual([
      ["common", "2", `${open.origin}/simple/`],
      ["internal", "1.0", `${lab.index.origin}/simple/`],
    ]);
    await expect(lab.prepare("internal>=99", { rules: { index: [lab.index.url, open.url] } })).rejects.toMatchObject(
      failure("no_version", /1\.0: --with needs internal>=99/),
    );
    expect(open.requests.filter((path) => path.includes("internal"))).toEqual([]);
  });

  test.each([500, 401, 403, 429])("an earlier index that answers %i is not passed over", async (status) => {
    await using lab = await PackageLab.open();
    await using open = await PackageIndex.start();
    open.add({ name: "internal", version: "99.0" });
    lab.index.on("/simple/internal/", (_, response) => response.writeHead(status).end());
    const rules = { index: [lab.index.url, open.url] };
    await expect(lab.prepare("internal", { rules })).rejects.toMatchObject(failure("index", new RegExp(`${status}`)));
    expect(open.requests).toEqual([]);
  });
});

describe("conflicts", () => {
  test("versions that two packages do not agree on are named with both", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "a", version: "1", requires: ["c<2"] });
    lab.index.add({ name: "b", version: "1", requires: ["c>=2"] });
    for (const version of ["1", "2"]) lab.index.add({ name: "c", version });
    const message =
      "no version of c can be used: a 1 needs c<2, b 1 needs c>=2\n  2: a 1 needs c<2\n  1: b 1 needs c>=2";
    await expect(lab.prepare(["a", "b"])).rejects.toMatchObject(failure("no_version", message));
  });

  test("an error names the newest versions' conflict, and why the older versions do not help", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "a", version: "2", requires: ["c>=2"] });
    lab.index.add({ name: "a", version: "1", requiresPython: ">=3.12" });
    lab.index.add({ name: "b", version: "1", requires: ["c<2"] });
    for (const version of ["1", "2"]) lab.index.add({ name: "c", version });
    const message = /^no version of c can be used: a 2 needs c>=2, b 1 needs c<2.*\n {2}1: it needs Python >=3\.12/s;
    await expect(lab.prepare(["a", "b"])).rejects.toMatchObject(failure("no_version", message));
  });

  test("an older version is taken where the newest one does not fit the others", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "a", version: "2", requires: ["c>=2"] });
    lab.index.add({ name: "a", version: "1", requires: ["c"] });
    lab.index.add({ name: "b", version: "1", requires: ["c<2"] });
    for (const version of ["1", "2"]) lab.index.add({ name: "c", version });
    expect(await lab.versions(["a", "b"])).toEqual(["a 1", "b 1", "c 1"]);
  });

  test("an extra that is asked for after its package was chosen adds its requirements", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({
      name: "lib",
      version: "1",
      extras: ["x"],
      requires: ['more; extra == "x"', 'lib[y]; extra == "x"', 'deep; extra == "y"'],
    });
    lab.index.add({ name: "app", version: "1", requires: ["lib[x]"] });
    lab.index.add({ name: "more", version: "1" });
    lab.index.add({ name: "deep", version: "1" });
    expect(await lab.versions(["lib", "app"])).toEqual(["app 1", "deep 1", "lib 1", "more 1"]);
  });

  test("packages that need each other are taken together", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "a", version: "1", requires: ["b"] });
    lab.index.add({ name: "b", version: "1", requires: ["a>=1"] });
    expect(await lab.versions("a")).toEqual(["a 1", "b 1"]);
  });

  test("a search that finds nothing ends after a bounded number of steps", async () => {
    await using lab = await PackageLab.open();
    for (let version = 1; version <= 30; version++) {
      lab.index.add({ name: "a", version: `${version}`, requires: [`c==${version}`], offersMetadata: true });
      lab.index.add({ name: "b", version: `${version}`, requires: [`c==${version + 100}`], offersMetadata: true });
    }
    lab.index.add({ name: "c", version: "1" });
    const limited = lab.prepare(["a", "b"], { limits: { steps: 50 } });
    await expect(limited).rejects.toMatchObject(failure("limit", /50 steps/));
  });
});
