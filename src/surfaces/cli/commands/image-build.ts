import { CodecellError } from "../../../lib/errors.ts";
import {
  bootstraps,
  buildImage,
  buildNetworks,
  checkImageName,
  imageEngine,
} from "../../../sessions/container-images.ts";
import type { Command, CommandContext } from "../command.ts";
import { imageJson } from "../format/format-images.ts";
import { ImageProgressPrinter } from "../format/image-progress-printer.ts";
import { formatAge } from "../format/text/format-age.ts";
import { formatBytes } from "../format/text/format-bytes.ts";
import { jsonText } from "../format/text/json-text.ts";
import { engineKind, imageOptions, oneOf } from "../sessions/image-options.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { Interruption } from "../shell/interruption.ts";

const options = {
  tag: { type: "string", value: "NAME", help: "Name of the image. Default: codecell-python:VERSION and :latest." },
  base: { type: "string", value: "IMAGE", help: "Base image, which must be Debian 12. Default: debian:bookworm-slim." },
  bootstrap: {
    type: "string",
    value: "debian",
    help: "Create the base with debootstrap (as root) instead of pulling it from a registry.",
  },
  network: { type: "string", value: "default|host|none", help: "Network that the build downloads packages through." },
  force: { type: "boolean", help: "Rebuild without the cache, to get security updates." },
  verbose: { type: "boolean", help: "Show the full output of the build." },
  ...imageOptions,
  ...commonOptions,
} as const;

export const imageBuildCommand: Command = {
  name: "image build",
  summary: "Build the image that container cells run in",
  usage: "codecell image build [options]",
  options,
  notes: [
    "The image contains Python with numpy, pandas, scipy, matplotlib and more, from Debian's packages. Its version is a hash of the " +
      "recipe and the base's name. A version that already exists is not rebuilt.",
    "The engine is looked up in the same places as by docker and podman: DOCKER_HOST, the docker context, CONTAINER_HOST, the usual sockets. " +
      "Without --network, the build uses the engine's bridge, or the host's network if there is no bridge.",
  ],
  examples: [
    ["codecell image build", "takes some minutes, once; then use `codecell run --runner container`"],
    ["codecell image build --bootstrap debian", "if no registry is reachable"],
    ["codecell image build --base mirror.example/debian:12-slim --tag python:ours", "use your own base image"],
    ["codecell image build --force --json", "get today's packages; print JSON"],
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
    throw new CodecellError("usage", "--base and --bootstrap cannot be combined", {
      hint: "use one of them",
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
    return undefined; // the user asked us to stop and needs no message
  });
  if (image === undefined) return interruption.exitCode ?? 1;
  printer.clear();
  const durationMs = Math.round(performance.now() - started);
  const { outcome } = image;
  if (values.json) {
    const more = { outcome: outcome === "built" ? "built" : "already_there", duration_ms: durationMs };
    terminal.stdout.write(jsonText({ ...imageJson(image), engine: client.address.kind, ...more }));
  } else {
    const how = outcome === "built" ? `built in ${formatAge(durationMs)}` : "already exists; use --force to rebuild it";
    terminal.stdout.write(`${image.name} (${formatBytes(image.bytes)}, ${client.address.name}) ${how}\n`);
  }
  return 0;
}
