import { expect, test } from "vitest";
import { defaultBase, defaultImage, imageVersion, readDockerfile } from "./default-image.ts";

test("the image version changes with the Dockerfile and with the base", () => {
  const version = imageVersion("FROM x\n", "debian:12");
  expect(version).toMatch(/^[0-9a-f]{12}$/);
  expect(imageVersion("FROM x\n", "debian:12")).toBe(version);
  expect(imageVersion("FROM y\n", "debian:12")).not.toBe(version);
  expect(imageVersion("FROM x\n", "debian:13")).not.toBe(version);
});

test("the default image has a versioned name, and its Dockerfile names the default base", () => {
  expect(defaultImage()).toMatch(/^codecell-python:[0-9a-f]{12}$/);
  expect(readDockerfile()).toContain(`ARG BASE=${defaultBase}\nFROM \${BASE}\n`);
});

test("the default Dockerfile ends as an ordinary user and installs packages from Debian only", () => {
  const users = [...readDockerfile().matchAll(/^USER (.+)$/gm)].map((match) => match[1]);
  expect(users).toEqual(["10001:10001"]);
  expect(readDockerfile()).not.toMatch(/\bpip\b|curl|wget|https?:|^ADD|^COPY/m);
});
