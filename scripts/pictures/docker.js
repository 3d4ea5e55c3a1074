import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";
import { benchEngine, image } from "../../bench/engine.js";
import { findEngine } from "../../dist/runners/container/engine/engine.js";
import { addressFacts } from "../../dist/runners/container/engine/engine-address.js";

const privateImage = "codecell-pictures:latest";

/** A running Docker that has codecell's image, or a private one as in the tests, or the reason why there is none. */
export async function openDocker() {
  const { client, lacking } = await benchEngine();
  const close = async () => {};
  if (client) return { engine: { client, host: process.env.DOCKER_HOST, image }, close };
  if (process.getuid?.() !== 0)
    return { lacking: `${lacking}; or run as root, to start a private Docker daemon`, close };
  try {
    return await startPrivateDocker();
  } catch (error) {
    return { lacking: `${lacking}; a private Docker daemon does not start: ${error.message}`, close };
  }
}

/** A daemon in its own directory, with an image that contains this machine's Python. */
async function startPrivateDocker() {
  const { openEngineHome } = await fromTests("engine-home.ts");
  const { startDocker } = await fromTests("docker-daemon.ts");
  const { importHostPython } = await fromTests("host-python-image.ts");
  const undo = [];
  const close = async () => {
    for (const one of undo.splice(0).reverse()) await one[Symbol.asyncDispose]();
  };
  try {
    const home = await openEngineHome();
    undo.push(home);
    const daemon = await startDocker(home.directory, { cgroup: home.cgroup });
    undo.push(daemon);
    process.env.DOCKER_HOST = daemon.host; // the container runner reads this variable
    const { engine } = await findEngine(addressFacts(), "docker");
    await importHostPython(engine.client, privateImage);
    return { engine: { client: engine.client, host: daemon.host, image: privateImage }, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Compiles a test file, because Node 20 cannot load TypeScript. */
async function fromTests(file) {
  const path = fileURLToPath(new URL(`../../test/support/${file}`, import.meta.url));
  const { module } = await runnerImport(path, { configFile: false, oxc: { target: "node20" }, logLevel: "error" });
  return module;
}
