import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type AddressFacts, engineAddresses, parseEngineAddress, unsupportedAddress } from "./engine-address.ts";

function facts(env: Record<string, string> = {}, files: Record<string, string> = {}, uid = 1000): AddressFacts {
  return { env, home: "/home/ada", uid, readText: async (path) => files[path] };
}

async function shown(given: AddressFacts, kind: "docker" | "podman") {
  const found = await engineAddresses(given);
  return found.filter((one) => one.kind === kind).map((one) => [one.shown, one.from]);
}

describe("engineAddresses", () => {
  test("lists the user's own Docker first, then the machine's, then Docker Desktop's", async () => {
    expect(await shown(facts({ XDG_RUNTIME_DIR: "/run/user/7" }), "docker")).toEqual([
      ["unix:///run/user/7/docker.sock", "rootless"],
      ["unix:///var/run/docker.sock", "the default location"],
      ["unix:///home/ada/.docker/run/docker.sock", "Docker Desktop"],
    ]);
    const [first] = await shown(facts(), "docker");
    expect(first?.[0]).toBe("unix:///run/user/1000/docker.sock");
  });

  test("lists no rootless address for root", async () => {
    const found = await shown(facts({}, {}, 0), "docker");
    expect(found.map(([, from]) => from)).not.toContain("rootless");
    expect(await shown(facts({}, {}, 0), "podman")).toEqual([
      ["unix:///run/podman/podman.sock", "the default location"],
    ]);
  });

  test("lists only the address in DOCKER_HOST if it is set", async () => {
    expect(await shown(facts({ DOCKER_HOST: "unix:///srv/d.sock" }), "docker")).toEqual([
      ["unix:///srv/d.sock", "DOCKER_HOST"],
    ]);
  });

  test.each(["ssh://ada@build.example", "npipe:////./pipe/docker_engine", "unix://relative", "tcp://no-port"])(
    "lists no other engine if DOCKER_HOST is %j, which codecell does not support",
    async (written) => {
      expect(await shown(facts({ DOCKER_HOST: written }), "docker")).toEqual([]);
    },
  );

  test("lists the default addresses if DOCKER_HOST is empty", async () => {
    expect((await shown(facts({ DOCKER_HOST: "" }), "docker")).length).toBeGreaterThan(1);
  });

  test("leaves out unsupported addresses, and unsupportedAddress explains why", async () => {
    const reason = async (env: Record<string, string>) => await unsupportedAddress(facts(env));
    expect(await reason({ DOCKER_HOST: "ssh://ada@build.example" })).toBe(
      "DOCKER_HOST is ssh://ada@build.example, but codecell supports only unix:// and tcp:// without TLS",
    );
    expect(await reason({ DOCKER_HOST: "tcp://build.example:2376", DOCKER_TLS_VERIFY: "1" })).toContain(
      "with TLS, but",
    );
    expect(await reason({ CONTAINER_HOST: "ssh://ada@build.example" })).toContain("CONTAINER_HOST is");
    expect(await reason({ DOCKER_CONTEXT: "lost" })).toBe("the Docker context lost does not exist");
    expect(await reason({ DOCKER_HOST: "unix:///srv/d.sock" })).toBeUndefined();
    expect(await reason({})).toBeUndefined();
  });

  const meta = (name: string) => {
    const id = createHash("sha256").update(name).digest("hex");
    return `/home/ada/.docker/contexts/meta/${id}/meta.json`;
  };
  const endpoint = JSON.stringify({ Endpoints: { docker: { Host: "unix:///srv/context.sock" } } });

  test("lists the address of the current Docker context", async () => {
    const files = { "/home/ada/.docker/config.json": '{"currentContext":"build"}', [meta("build")]: endpoint };
    expect(await shown(facts({}, files), "docker")).toEqual([["unix:///srv/context.sock", "context build"]]);
  });

  test("prefers DOCKER_CONTEXT to the current context, and DOCKER_HOST to both", async () => {
    const files = { "/home/ada/.docker/config.json": '{"currentContext":"other"}', [meta("build")]: endpoint };
    const env = { DOCKER_CONTEXT: "build" };
    expect(await shown(facts(env, files), "docker")).toEqual([["unix:///srv/context.sock", "context build"]]);
    const both = { ...env, DOCKER_HOST: "unix:///srv/d.sock" };
    expect(await shown(facts(both, files), "docker")).toEqual([["unix:///srv/d.sock", "DOCKER_HOST"]]);
  });

  test.each(["{", "[]", '"text"', '{"currentContext":7}', '{"currentContext":"default"}'])(
    "lists the default location if the Docker configuration is %s",
    async (config) => {
      const found = await shown(facts({}, { "/home/ada/.docker/config.json": config }), "docker");
      expect(found).toContainEqual(["unix:///var/run/docker.sock", "the default location"]);
    },
  );

  test("lists no other engine if the chosen context does not exist", async () => {
    expect(await shown(facts({ DOCKER_CONTEXT: "gone" }), "docker")).toEqual([]);
  });

  test("lists no engine that the user wants to reach over TLS, because anybody could answer without it", async () => {
    const DOCKER_HOST = "tcp://build.example:2376";
    expect(await shown(facts({ DOCKER_HOST, DOCKER_TLS_VERIFY: "1" }), "docker")).toEqual([]);
    expect(await shown(facts({ DOCKER_HOST }), "docker")).toEqual([[DOCKER_HOST, "DOCKER_HOST"]]);
    const remote = JSON.stringify({ Endpoints: { docker: { Host: DOCKER_HOST } } });
    const tls = meta("build").replace("/meta/", "/tls/").replace("meta.json", "docker/ca.pem");
    const files = { [meta("build")]: remote, [tls]: "-----BEGIN CERTIFICATE-----" };
    expect(await shown(facts({ DOCKER_CONTEXT: "build" }, files), "docker")).toEqual([]);
  });

  test("treats an empty variable as unset", async () => {
    const files = { "/home/ada/.docker/config.json": '{"currentContext":"build"}', [meta("build")]: endpoint };
    const names = ["DOCKER_HOST", "CONTAINER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "XDG_RUNTIME_DIR"];
    const empty = Object.fromEntries(names.map((name) => [name, ""]));
    for (const kind of ["docker", "podman"] as const)
      expect(await shown(facts(empty, files), kind)).toEqual(await shown(facts({}, files), kind));
  });

  test("lists only the address in CONTAINER_HOST for Podman, and none for Docker", async () => {
    const given = facts({ CONTAINER_HOST: "unix:///srv/p.sock" });
    expect(await shown(given, "podman")).toEqual([["unix:///srv/p.sock", "CONTAINER_HOST"]]);
    expect(await shown(given, "docker")).toEqual([]);
  });
});

describe("parseEngineAddress", () => {
  test("reads a socket path, or a host and a port", () => {
    expect(parseEngineAddress("docker", "tcp://127.0.0.1:2375", "x")?.connect).toEqual({
      ...{ host: "127.0.0.1", port: 2375 },
    });
    expect(parseEngineAddress("podman", "http://[::1]:8080/", "x")?.connect).toEqual({ host: "::1", port: 8080 });
    expect(parseEngineAddress("docker", "unix:///a b/c.sock", "x")?.connect).toEqual({ socketPath: "/a b/c.sock" });
  });

  test("rejects an address with a path, a user name or a password", () => {
    for (const written of ["tcp://a:1/path", "tcp://user:pass@a:1", "https://a:1", "tcp://a:123456"])
      expect(parseEngineAddress("docker", written, "x")).toBeUndefined();
  });
});
