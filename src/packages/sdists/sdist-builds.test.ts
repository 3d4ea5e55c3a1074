import { expect, test } from "vitest";
import type { SdistCandidate } from "../resolve/candidate.ts";
import { SdistBuilds, type SdistBuildsOptions } from "./sdist-builds.ts";

/** Two packages of two indexes that name the same address. */
function candidate(name: string): SdistCandidate {
  const url = new URL("https://packages.example/files/a-1.0.tar.gz");
  const page = { index: { url: new URL(`https://${name}.example/simple/`) } };
  const file = { name: "a-1.0.tar.gz", url };
  return { kind: "sdist", name, version: "1.0", file, page, sha256: [name] } as unknown as SdistCandidate;
}

test("a source distribution is fetched again for a package of another index, with that package's hash", async () => {
  const asked: string[] = [];
  const downloads = {
    get: async ({ name, sha256 }: SdistCandidate) => {
      asked.push(`${name} ${sha256}`);
      throw new Error(`no file for ${name}`);
    },
  };
  const builds = new SdistBuilds({ store: {}, downloads } as unknown as SdistBuildsOptions);
  for (const name of ["one", "two", "one"])
    await expect(builds.contents(candidate(name))).rejects.toThrow(`no file for ${name}`);
  expect(asked).toEqual(["one one", "two two"]);
});
