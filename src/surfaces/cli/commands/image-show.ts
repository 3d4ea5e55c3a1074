import { checkImageName, defaultImage, findImage, imageEngine } from "../../../sessions/container-images.ts";
import type { Command, CommandContext } from "../command.ts";
import { imageJson } from "../format/format-images.ts";
import { formatAge } from "../format/text/format-age.ts";
import { formatBytes } from "../format/text/format-bytes.ts";
import { jsonText } from "../format/text/json-text.ts";
import { safeText } from "../format/text/safe-text.ts";
import { engineKind, imageOptions } from "../sessions/image-options.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";

const options = { ...imageOptions, ...commonOptions } as const;

export const imageShowCommand: Command = {
  name: "image show",
  summary: "Show one image; by default the one that cells use",
  usage: "codecell image show [NAME] [options]",
  options,
  notes: ["Exit code: 0 if the engine has the image, else 1."],
  examples: [
    ["codecell image show", "is the default image built?"],
    ["codecell image show codecell-python:latest --json", "an image by name, for programs"],
  ],
  run: runImageShow,
};

async function runImageShow(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("image show", argv, options, 1);
  const current = defaultImage();
  const name = positionals[0] === undefined ? current : checkImageName(positionals[0], "NAME");
  await using engine = await imageEngine(terminal.env, engineKind(values.engine));
  const { client } = engine;
  const image = await findImage(client, name);
  const { stdout } = terminal;
  if (values.json) {
    const facts = image === undefined ? { image: name } : imageJson(image);
    stdout.write(jsonText({ ...facts, engine: client.address.kind, default: current, there: image !== undefined }));
  } else if (image === undefined) {
    stdout.write(
      `${name}: ${client.address.name} does not have this image; build the default one with \`codecell image build\`\n`,
    );
  } else {
    const age = formatAge(Date.now() - image.createdMs);
    stdout.write(`${name}: ${formatBytes(image.bytes)}, ${age} old, in ${client.address.name}\n`);
    stdout.write(`version  ${safeText(image.version ?? "not built by codecell")}\n`);
    stdout.write(`base     ${safeText(image.base ?? "unknown")}\n`);
    stdout.write(`names    ${safeText(image.tags.join(", ") || "none")}\nid       ${safeText(image.id)}\n`);
  }
  return image === undefined ? 1 : 0;
}
