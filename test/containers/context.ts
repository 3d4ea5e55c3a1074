import { inject } from "vitest";
import type { EngineKind } from "../../src/runners/container/engine/engine-address.ts";
import type { Probe } from "../../src/runners/runner.ts";
import { skipOrFail } from "../contract/required.ts";

const { image, ...engines } = inject("containers");

/**
 * The address of an engine that has the default image. Undefined if there is none: the tests are skipped. If
 * REQUIRE_RUNNERS names the runner, they fail instead.
 */
export function engineFor(needed: "container" | "gvisor" | "podman"): string | undefined {
  const kind: EngineKind = needed === "podman" ? "podman" : "docker";
  const engine = engines[kind];
  return skipOrFail(needed, probe(needed)) || !engine.available ? undefined : engine.host;

  function probe(name: typeof needed): Probe {
    if (!engine.available) return engine;
    if (image.kind === "none") return { available: false, reason: image.reason, hint: imageHint };
    if (name === "gvisor" && !engine.runtimes.includes("runsc")) {
      return { available: false, reason: "Docker has no runtime runsc", hint: "apt install runsc" };
    }
    return { available: true, version: kind, guarantees: [] };
  }
}

const imageHint = "apt install debootstrap, or `codecell image build` in the engine that the tests are given";
