import { CodecellError } from "../../../lib/errors.ts";
import {
  bootstraps,
  buildImage,
  buildNetworks,
  checkImageName,
  imageEngine,
} from "../../../sessions/container-images.ts";
import type { Command, CommandContext } from "../command.ts";
import { formatAge } from "../format/format-age.ts";
import { formatBytes } from "../format/format-bytes.ts";
import { imageJson } from "../format/format-images.ts";
import { ImageProgressPrinter } from "../format/image-progress-printer.ts";
import { jsonText } from "../format/json-text.ts";
import { engineKind, imageOptions, oneOf } from "../sessions/image-options.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { Interruption } from "../shell/interruption.ts";

const options = {
  tag: { type: "string", value: "NAME", help: "Name to give it, instead of codecell-python:VERSION and :latest." },
  base: { type: "string", value: "IMAGE", help: "Image to build upon: Debian 12; default: debian:bookworm-slim." },
  bootstrap: { type: "string", value: "debian", help: "Make the base with debootstrap (as root); asks no registry." },
  network: { type: "string", value: "default|host|none", help: "Network of the build, which downloads packages." },
  force: { type: "boolean", help: "Build again without any cache: brings security updates." },
  verbose: { type: "boolean", help: "Show everything that the build prints." },
  ...imageOptions,
  ...commonOptions,
} as const;

export const imageBuildCommand: Command = {
  name: "image build",
  summary: "Build the image that container cells run in",
  usage: "codecell image build [options]",
  options,
  notes: [
    "Python with numpy, pandas, scipy, matplotlib and more, from Debian's packages. Its version is the hash of the recipe and of " +
      "the base's name; a version that is there is not built again.",
    "The engine is found as docker and podman find it: DOCKER_HOST, the docker context, CONTAINER_HOST, the usual sockets. " +
      "Without --network the build uses the engine's bridge, or the host's network where it has none.",
  ],
  examples: [
    ["codecell image build", "some minutes once; then `codecell run --runner container`"],
    ["codecell image build --bootstrap debian", "where no registry can be reached"],
    ["codecell image build --base mirror.example/debian:12-slim --tag python:ours", "upon a base of your own"],
    ["codecell image build --force --json", "with today's packages, for programs"],
  ],
  run: runImageBuild,
};

async function runImageBuild(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values } = parseArguments("image build", argv, options, 0);
  const kind = engineKind(values.engine);
  const chosen = {
    ...(values.tag === undefined ? {} : { tag: checkImageName(values.tag, "--tag") }),
    ...(values.base === undefined ? {} : { base: checkImageName(values.base, "--base") }),
    ...(values.bootstrap === undefined ? {} : { bootstrap: oneOf("--bootstrap", values.bootstrap, bootstraps) }),
    ...(values.network === undefined ? {} : { network: oneOf("--network", values.network, buildNetworks) }),
    ...(values.force ? { force: true } : {}),
  };
  if (chosen.base !== undefined && chosen.bootstrap !== undefined) {
    throw new CodecellError("usage", "--base and --bootstrap both say what to build upon", {
      hint: "choose one of them",
    });
  }
  using interruption = new Interruption(terminal);
  await using engine = await imageEngine(terminal.env, kind);
  const { client } = engine;
  const started = performance.now();
  using printer = new ImageProgressPrinter(terminal.stderr, { verbose: values.verbose ?? false });
  const work = buildImage(client, {
    ...chosen,
    env: terminal.env,
    onProgress: (progress) => printer.print(progress),
    signal: interruption.signal,
  });
  const image = await work.catch((error: unknown) => {
    if (interruption.exitCode === undefined) throw error;
    return undefined; // whoever asked us to stop knows why
  });
  if (image === undefined) return interruption.exitCode ?? 1;
  printer.clear();
  const durationMs = Math.round(performance.now() - started);
  const { outcome } = image;
  if (values.json) {
    const more = { outcome: outcome === "built" ? "built" : "already_there", duration_ms: durationMs };
    terminal.stdout.write(jsonText({ ...imageJson(image), engine: client.address.kind, ...more }));
  } else {
    const how = outcome === "built" ? `built in ${formatAge(durationMs)}` : "is already there; --force builds it again";
    terminal.stdout.write(`${image.name} (${formatBytes(image.bytes)}, ${client.address.name}) ${how}\n`);
  }
  return 0;
}
