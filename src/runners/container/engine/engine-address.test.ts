import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type AddressFacts, engineAddresses, parseEngineAddress, unspokenAddress } from "./engine-address.ts";

function facts(env: Record<string, string> = {}, files: Record<string, string> = {}, uid = 1000): AddressFacts {
  return { env, home: "/home/ada", uid, readText: async (path) => files[path] };
}

async function shown(given: AddressFacts, kind: "docker" | "podman") {
  const found = await engineAddresses(given);
  return found.filter((one) => one.kind === kind).map((one) => [one.shown, one.from]);
}

describe("where engines listen", () => {
  test("is the user's own Docker first, then the machine's, then Docker Desktop's", async () => {
    expect(await shown(facts({ XDG_RUNTIME_DIR: "/run/user/7" }), "docker")).toEqual([
      ["unix:///run/user/7/docker.sock", "rootless"],
      ["unix:///var/run/docker.sock", "the usual place"],
      ["unix:///home/ada/.docker/run/docker.sock", "Docker Desktop"],
    ]);
    const [first] = await shown(facts(), "docker");
    expect(first?.[0]).toBe("unix:///run/user/1000/docker.sock");
  });

  test("is no rootless place for root", async () => {
    const found = await shown(facts({}, {}, 0), "docker");
    expect(found.map(([, from]) => from)).not.toContain("rootless");
    expect(await shown(facts({}, {}, 0), "podman")).toEqual([["unix:///run/podman/podman.sock", "the usual place"]]);
  });

  test("is what DOCKER_HOST says, and nowhere else", async () => {
    expect(await shown(facts({ DOCKER_HOST: "unix:///srv/d.sock" }), "docker")).toEqual([
      ["unix:///srv/d.sock", "DOCKER_HOST"],
    ]);
  });

  test.each(["ssh://ada@build.example", "npipe:////./pipe/docker_engine", "unix://relative", "tcp://no-port", ""])(
    "is nowhere when DOCKER_HOST is %j, which we cannot speak: another engine is not taken instead",
    async (written) => {
      const found = await shown(facts({ DOCKER_HOST: written }), "docker");
      if (written === "") expect(found.length).toBeGreaterThan(1);
      else expect(found).toEqual([]);
    },
  );

  test("is said of an address that we cannot speak to", async () => {
    const said = async (env: Record<string, string>) => await unspokenAddress(facts(env));
    expect(await said({ DOCKER_HOST: "ssh://ada@build.example" })).toBe(
      "DOCKER_HOST names ssh://ada@build.example, and only unix:// and tcp:// without TLS can be spoken to",
    );
    expect(await said({ DOCKER_HOST: "tcp://build.example:2376", DOCKER_TLS_VERIFY: "1" })).toContain("with TLS, and");
    expect(await said({ CONTAINER_HOST: "ssh://ada@build.example" })).toContain("CONTAINER_HOST names");
    expect(await said({ DOCKER_CONTEXT: "lost" })).toBe("there is no context lost");
    expect(await said({ DOCKER_HOST: "unix:///srv/d.sock" })).toBeUndefined();
    expect(await said({})).toBeUndefined();
  });

  const meta = (name: string) => {
    const id = createHash("sha256").update(name).digest("hex");
    return `/home/ada/.docker/contexts/meta/${id}/meta.json`;
  };
  const endpoint = JSON.stringify({ Endpoints: { docker: { Host: "unix:///srv/context.sock" } } });

  test("is the context that was chosen", async () => {
    const files = { "/home/ada/.docker/config.json": '{"currentContext":"build"}', [meta("build")]: endpoint };
    expect(await shown(facts({}, files), "docker")).toEqual([["unix:///srv/context.sock", "context build"]]);
  });

  test("is the context of DOCKER_CONTEXT before the chosen one, and DOCKER_HOST before both", async () => {
    const files = { "/home/ada/.docker/config.json": '{"currentContext":"other"}', [meta("build")]: endpoint };
    const env = { DOCKER_CONTEXT: "build" };
    expect(await shown(facts(env, files), "docker")).toEqual([["unix:///srv/context.sock", "context build"]]);
    const both = { ...env, DOCKER_HOST: "unix:///srv/d.sock" };
    expect(await shown(facts(both, files), "docker")).toEqual([["unix:///srv/d.sock", "DOCKER_HOST"]]);
  });

  test.each(["{", "[]", '"text"', '{"currentContext":7}', '{"currentContext":"default"}'])(
    "is the usual place when the configuration is %s",
    async (config) => {
      const found = await shown(facts({}, { "/home/ada/.docker/config.json": config }), "docker");
      expect(found).toContainEqual(["unix:///var/run/docker.sock", "the usual place"]);
    },
  );

  test("is nowhere when the chosen context is not there: another engine is not taken instead", async () => {
    expect(await shown(facts({ DOCKER_CONTEXT: "gone" }), "docker")).toEqual([]);
  });

  test("is nowhere when TLS is asked for, which we do not speak: in the open anybody could answer", async () => {
    const DOCKER_HOST = "tcp://build.example:2376";
    expect(await shown(facts({ DOCKER_HOST, DOCKER_TLS_VERIFY: "1" }), "docker")).toEqual([]);
    expect(await shown(facts({ DOCKER_HOST }), "docker")).toEqual([[DOCKER_HOST, "DOCKER_HOST"]]);
    const remote = JSON.stringify({ Endpoints: { docker: { Host: DOCKER_HOST } } });
    const tls = meta("build").replace("/meta/", "/tls/").replace("meta.json", "docker/ca.pem");
    const files = { [meta("build")]: remote, [tls]: "-----BEGIN CERTIFICATE-----" };
    expect(await shown(facts({ DOCKER_CONTEXT: "build" }, files), "docker")).toEqual([]);
  });

  test("is the usual one when a variable is there and empty", async () => {
    const files = { "/home/ada/.docker/config.json": '{"currentContext":"build"}', [meta("build")]: endpoint };
    const names = ["DOCKER_HOST", "CONTAINER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "XDG_RUNTIME_DIR"];
    const empty = Object.fromEntries(names.map((name) => [name, ""]));
    for (const kind of ["docker", "podman"] as const)
      expect(await shown(facts(empty, files), kind)).toEqual(await shown(facts({}, files), kind));
  });

  test("is CONTAINER_HOST for Podman, and no place of Docker's that nobody named", async () => {
    const given = facts({ CONTAINER_HOST: "unix:///srv/p.sock" });
    expect(await shown(given, "podman")).toEqual([["unix:///srv/p.sock", "CONTAINER_HOST"]]);
    expect(await shown(given, "docker")).toEqual([]);
  });
});

describe("an address", () => {
  test("is a socket, or a host and a port", () => {
    expect(parseEngineAddress("docker", "tcp://127.0.0.1:2375", "x")?.connect).toEqual({
      ...{ host: "127.0.0.1", port: 2375 },
    });
    expect(parseEngineAddress("podman", "http://[::1]:8080/", "x")?.connect).toEqual({ host: "::1", port: 8080 });
    expect(parseEngineAddress("docker", "unix:///a b/c.sock", "x")?.connect).toEqual({ socketPath: "/a b/c.sock" });
  });

  test("an engine address with a path, a user name or a secret in it is not used", () => {
    for (const written of ["tcp://a:1/path", "tcp://user:pass@a:1", "https://a:1", "tcp://a:123456"])
      expect(parseEngineAddress("docker", written, "x")).toBeUndefined();
  });
});
