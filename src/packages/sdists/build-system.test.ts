import { describe, expect, test } from "vitest";
import { buildSystem } from "./build-system.ts";
import { isStatic } from "./static-metadata.ts";

const read = (text: string | undefined) => buildSystem(text, "a-1.tar.gz");

describe("the build system of a source distribution", () => {
  test("is setuptools if pyproject.toml is missing or says nothing", () => {
    const legacy = { backend: "setuptools.build_meta:__legacy__", requires: ["setuptools>=40.8.0", "wheel"] };
    expect(read(undefined)).toMatchObject(legacy);
    expect(read('[project]\nname = "a"\n')).toMatchObject(legacy);
    expect(read('[build-system]\nrequires = ["setuptools>=61"]\n')).toMatchObject({
      ...{ backend: legacy.backend, requires: ["setuptools>=61"] },
    });
  });

  test("is read wherever its table is", () => {
    const text = `
title = "x" # [build-system]
[project]
name = "a"
text = """
[build-system]
requires = ["evil"]
"""
[[tool.x]]
a = 1
[tool.y.z]
b = { c = [1, 2] }
[build-system]
requires = [
  "hatchling>=1", # why
  'other; python_version < "3.9"',
]
build-backend = "hatchling.build"
backend-path = ["."]
[tool.last]
when = 2020-01-01 10:00:00
`;
    expect(read(text)).toEqual({
      ...{
        requires: ["hatchling>=1", 'other; python_version < "3.9"'],
        backend: "hatchling.build",
        backendPath: ["."],
      },
    });
  });

  test.each([
    ['build-system = { requires = ["a"] }', /not written as \[build-system\]/],
    ['[build-system]\nbuild-backend = "a"', /has no requires/],
    ['[build-system]\nrequires = "a"', /not a short list/],
    ["[build-system]\nrequires = [1]", /not a string/],
    ['[build-system]\nrequires = []\nbuild-backend = "a; import os"', /build-backend is not a name/],
    ['[build-system]\nrequires = []\n[build-system]\nrequires = ["b"]', /twice/],
    ["[build-system\nrequires = []", /expected \]/],
    ["x".repeat(2_000_000), /longer than/],
  ])("%.60s is refused", (text, message) => {
    expect(() => read(text)).toThrow(
      expect.objectContaining({ code: "packages_failed", message: expect.stringMatching(message) }),
    );
  });
});

describe("metadata of a source distribution", () => {
  test.each([
    ["Metadata-Version: 2.2\nName: a\n", true],
    ["Metadata-Version: 2.4\nName: a\nDynamic: License-File\n", true],
    ["Metadata-Version: 2.1\nName: a\n", false],
    ["Metadata-Version: 2.2\nDynamic: Requires-Dist\n", false],
    ["Metadata-Version: 2.2\nDynamic: requires-python\n", false],
    ["Name: a\n", false],
    ["Name: a\n\nMetadata-Version: 2.2\n", false],
  ])("%j decides without a build: %s", (text, expected) => {
    expect(isStatic(text)).toBe(expected);
  });
});
