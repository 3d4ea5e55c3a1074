import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { imageContext, tarHeader } from "./image-context.ts";

test.each(["", "FROM x\n", "y".repeat(511), "z".repeat(512), "ü".repeat(300)])(
  "tar can extract an image context with the Dockerfile %j",
  (text) => {
    const archive = imageContext("Dockerfile", text);
    expect(archive.length % 512).toBe(0);
    expect(execFileSync("tar", ["-tf", "-"], { input: archive }).toString()).toBe("Dockerfile\n");
    expect(execFileSync("tar", ["-xOf", "-", "Dockerfile"], { input: archive }).toString()).toBe(text);
  },
);

test("the checksum of a tar header counts its own field as blanks", () => {
  const header = tarHeader("Dockerfile", 1234);
  const written = Number.parseInt(header.toString("latin1", 148, 154), 8);
  header.fill(" ", 148, 156);
  expect(header.reduce((sum, byte) => sum + byte, 0)).toBe(written);
  expect(header.toString("latin1", 124, 135)).toBe("00000002322");
});

test("the image context of the same Dockerfile has the same bytes", () => {
  expect(imageContext("Dockerfile", "FROM x\n").equals(imageContext("Dockerfile", "FROM x\n"))).toBe(true);
});

test("a name that is too long for a tar header is rejected", () => {
  expect(() => tarHeader("n".repeat(101), 0)).toThrow(RangeError);
});
