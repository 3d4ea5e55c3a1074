import { interleave, timed } from "../../../bench/harness.js";
import { Codecell, parsePolicy } from "../../../dist/index.js";
import { addressFacts } from "../../../dist/runners/container/engine/engine-address.js";
import { containerRunner } from "../../../dist/runners/container/runner.js";
import { kubernetesRunner } from "../../../dist/runners/kubernetes/runner.js";
import { expect } from "./expect.js";
import { Gateway } from "./gateway.js";
import { localImage, startLocalDocker } from "./local-docker.js";
import { withEnvironment } from "./with-environment.js";

const rounds = 200;
const warmUpRounds = 50;
const policy = { proc: { memory: "256MiB" } };
const mostTimes = 3;

/** @type {import("./steps.js").Step} */
export const roundTrips = {
  name: "round-trips",
  asks: "how long does a run take in a pod, and how long in a container of this machine?",
  needsOwnCluster: true, // its machine has the nodes: no other distance is in the figures
  run: (context) => withEnvironment(context.env, () => measure(context)),
};

async function measure(context) {
  const docker = await startLocalDocker(context);
  const closing = [() => docker.stop()];
  try {
    const inDocker = { DOCKER_HOST: docker.host };
    const container = () => containerRunner({ engine: "docker", image: localImage, addresses: addressFacts(inDocker) });
    const open = async (name, runner) => {
      const stateDir = `${context.directory}/${name}`;
      const codecell = await Codecell.open({ policy: parsePolicy(policy), runners: [runner], stateDir });
      closing.push(() => codecell[Symbol.asyncDispose]());
      return await codecell.session();
    };
    const serve = async (name, options) => {
      const gateway = await Gateway.start(context, { name, ...options });
      closing.push(() => gateway.stop());
      return await (await gateway.connect()).session();
    };
    const local = { ...policy, kernel: { image: localImage } };
    const sessions = {
      pod: await open("trip-pod", kubernetesRunner()),
      container: await open("trip-container", container()),
      gatewayToPod: await serve("trip-gateway-pod", { policy }),
      gatewayToContainer: await serve("trip-gateway-container", { policy: local, runner: "container", env: inDocker }),
    };
    const variants = Object.fromEntries(
      Object.entries(sessions).map(([name, session]) => [name, () => timed(async () => session.run("x = 1"))]),
    );
    for (let round = 0; round < warmUpRounds; round++) for (const run of Object.values(variants)) await run();
    const times = await interleave(variants, rounds);
    const figures = Object.fromEntries(Object.entries(times).map(([name, ms]) => [`${name}RunMs`, ms]));
    const ratio = times.gatewayToPod / times.gatewayToContainer;
    const strict = times.gatewayToPod / times.container;
    expect(ratio <= mostTimes, `a run through a gateway takes at most ${mostTimes} times as long in a pod`, figures);
    const shown = Object.entries(times).map(([name, ms]) => `${name} ${ms.toFixed(2)} ms`);
    return {
      detail: `${shown.join(", ")}: through a gateway ${ratio.toFixed(2)} times a container's through a gateway, ${strict.toFixed(2)} times a container's without one`,
      figures,
    };
  } finally {
    for (const close of closing.reverse()) await close();
  }
}
