import { expect, test } from "vitest";
import { defaultBase, defaultImage, imageVersion, readDockerfile } from "./default-image.ts";

test("has a version that changes with the recipe and with the base", () => {
  const version = imageVersion("FROM x\n", "debian:12");
  expect(version).toMatch(/^[0-9a-f]{12}$/);
  expect(imageVersion("FROM x\n", "debian:12")).toBe(version);
  expect(imageVersion("FROM y\n", "debian:12")).not.toBe(version);
  expect(imageVersion("FROM x\n", "debian:13")).not.toBe(version);
});

test("is named by the recipe that ships with codecell, upon the base that the recipe names", () => {
  expect(defaultImage()).toMatch(/^codecell-python:[0-9a-f]{12}$/);
  expect(readDockerfile()).toContain(`ARG BASE=${defaultBase}\nFROM \${BASE}\n`);
});

test("has a recipe that ends as nobody in particular, and takes packages from Debian alone", () => {
  const users = [...readDockerfile().matchAll(/^USER (.+)$/gm)].map((match) => match[1]);
  expect(users).toEqual(["10001:10001"]);
  expect(readDockerfile()).not.toMatch(/\bpip\b|curl|wget|https?:|^ADD|^COPY/m);
});
