import { describe, expect, test } from "vitest";
import { parseRequirementsFile } from "./requirements-file.ts";

const hash = "a".repeat(64);

describe("a requirements file", () => {
  test("gives its requirements with their lines and hashes", () => {
    const text = [
      ..."\ufeff# made by pip-compile|requests[socks] >= 2.31 ; python_version > '3.8'  # web".split("|"),
      "pandas==2.2 \\",
      `    --hash=sha256:${hash} \\`,
      `    --hash sha256:${"b".repeat(64)}`,
      ...["    # via something", "", "--require-hashes", "six\r"],
    ].join("\n");
    expect(parseRequirementsFile(text, "requirements.txt")).toEqual([
      { requirement: "requests[socks] >= 2.31 ; python_version > '3.8'", from: "requirements.txt:2" },
      {
        ...{ requirement: "pandas==2.2", from: "requirements.txt:3" },
        hashes: [`sha256:${hash}`, `sha256:${"b".repeat(64)}`],
      },
      { requirement: "six", from: "requirements.txt:9" },
    ]);
  });

  test("an empty file asks for nothing", () => {
    expect(parseRequirementsFile("\n# nothing\n", "r.txt")).toEqual([]);
  });

  test.each([
    ["-r base.txt", "other files are not read"],
    ["-c limits.txt", "constraint files are not read"],
    ["-e .", "editable installs"],
    ["--editable=./x", "editable installs"],
    ["--index-url https://packages.example/simple", "does not choose where packages come from"],
    ["--extra-index-url=https://packages.example/simple", "does not choose where packages come from"],
    ["--find-links /tmp", "does not choose where packages come from"],
    ["--trusted-host packages.example", "does not choose where packages come from"],
    ["--pre", "pre-releases are not switched on"],
    ["--config-settings x", "is an option that is not supported"],
    ["six --global-option=x", "is an option that is not supported"],
    ["six --hash", "is an option that is not supported"],
    ["six --hash=md5:123", "is not a hash that can be checked"],
    ["git+https://packages.example/x.git", "only packages of an index"],
    ["six @ file:///tmp/six.whl", "only packages of an index"],
    ["six==$" + "{VERSION}", "variables are not replaced"],
  ])("the line %j is refused with its number", (line, why) => {
    expect(() => parseRequirementsFile(`pandas\n${line}\n`, "requirements.txt")).toThrow(
      expect.objectContaining({ code: "usage", message: expect.stringMatching(/requirements\.txt:2/) }),
    );
    expect(() => parseRequirementsFile(`pandas\n${line}\n`, "requirements.txt")).toThrow(why);
  });
});
