import { defaultImage, imageEngine, listImages } from "../../../sessions/container-images.ts";
import type { Command, CommandContext } from "../command.ts";
import { imageJson, imagesText } from "../format/format-images.ts";
import { jsonText } from "../format/text/json-text.ts";
import { engineKind, imageOptions } from "../sessions/image-options.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";

const options = { ...imageOptions, ...commonOptions } as const;

export const imageLsCommand: Command = {
  name: "image ls",
  summary: "List the images built for cells",
  usage: "codecell image ls [options]",
  options,
  notes: ["A star marks the image that cells use when the policy names none. `docker rmi NAME` removes an image."],
  examples: [
    ["codecell image ls", "newest first"],
    ["codecell image ls --engine podman --json", "the images of Podman, for programs"],
  ],
  run: runImageLs,
};

async function runImageLs(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values } = parseArguments("image ls", argv, options, 0);
  await using engine = await imageEngine(terminal.env, engineKind(values.engine));
  const { client } = engine;
  const images = await listImages(client);
  const { stdout } = terminal;
  const current = defaultImage();
  if (values.json) {
    stdout.write(jsonText({ engine: client.address.kind, default: current, images: images.map(imageJson) }));
  } else {
    stdout.write(imagesText(images, current, Date.now(), stdout.columns));
  }
  return 0;
}
