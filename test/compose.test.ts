import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { packageRoot } from "../src/lib/files/package-root.ts";
import { isBelow } from "../src/policy/paths/host-path.ts";
import { serveOptions } from "../src/surfaces/cli/serve/serve-options.ts";
import { parseArguments } from "../src/surfaces/cli/shell/arguments.ts";
import { composeSettings } from "./support/compose-settings.ts";

const variants = ["images/service/compose.process.yaml", "images/service/compose.engine.yaml"];

test.each(variants)("compose.yaml and %s keep the service without privileges", (file) => {
  const settings = composeSettings(["compose.yaml", file]);
  expect(settings).toMatchObject({ read_only: true, cap_drop: ["ALL"], ports: ["127.0.0.1:7410:7410"] });
  expect(settings.security_opt).toContain("no-new-privileges:true");
});

describe("compose.engine.yaml", () => {
  const settings = composeSettings(["compose.yaml", "images/service/compose.engine.yaml"]);
  const shared = settings.volumes.find((volume: { type?: string }) => volume.type === "bind");

  test("keeps state and runtime files where the engine finds them by the same path", () => {
    expect(shared).toMatchObject({ source: shared.target, bind: { create_host_path: false } });
    const { XDG_STATE_HOME, XDG_RUNTIME_DIR } = settings.environment;
    expect(
      [XDG_STATE_HOME, XDG_RUNTIME_DIR].every((path) => path === shared.target || isBelow(path, shared.target)),
    ).toBe(true);
    // a file system of the container alone would hide the directory from the engine
    const own = settings.tmpfs.map((text: string) => text.split(":")[0]);
    expect(own.filter((path: string) => isBelow(XDG_RUNTIME_DIR, path) || path === XDG_RUNTIME_DIR)).toEqual([]);
  });

  test("starts serve on the container runner, and leaves its directories to the environment, as other commands do", () => {
    const [, ...argv] = settings.command;
    const { values } = parseArguments("serve", argv, serveOptions, 0);
    expect(values).toMatchObject({ host: "0.0.0.0", "create-token": "owner", runner: "container" });
    expect(values["state-dir"]).toBeUndefined();
  });

  test("the documentation creates the directory for the service's user before the start", () => {
    const made = `sudo install -d -o 10002 -g 10002 -m 700 ${shared.source}`;
    for (const file of ["docs/service-image.md", "images/service/compose.engine.yaml"]) {
      expect(readFileSync(join(packageRoot(), file), "utf8")).toContain(made);
    }
  });
});
