import { describe, expect, test } from "vitest";
import { internetNames } from "./internet-names.ts";

describe("the names of ports and protocols", () => {
  const { services, protocols } = internetNames;

  test("list a service once for each transport, with its other names", () => {
    expect(services).toContain("domain 53/tcp\ndomain 53/udp\n");
    expect(services).toContain("\nhttp 80/tcp www\n");
  });

  test("have a format that the C library reads: a name, a number, other names", () => {
    for (const line of services.trimEnd().split("\n"))
      expect(line).toMatch(/^[a-z][a-z0-9-]* \d+\/(tcp|udp)( [a-z0-9-]+)*$/);
    for (const line of protocols.trimEnd().split("\n")) expect(line).toMatch(/^[a-z][a-z0-9-]* \d+ \S+$/);
  });

  test("name no port twice", () => {
    const ports = services
      .trimEnd()
      .split("\n")
      .map((line) => line.split(" ")[1]);
    expect(new Set(ports).size).toBe(ports.length);
  });
});
