import { CodecellError } from "../../../lib/errors.ts";

const noNetwork =
  /temporary failure resolving|could not resolve|could not connect|network is unreachable|cni|netavark/i;

/** Pure: why a build failed and what to do, from the engine's last messages. */
export function buildFailure(message: string, last: readonly string[], network: string): CodecellError {
  const reason = last.findLast((line) => noNetwork.test(line)) ?? last.findLast((line) => /^(E|error):/i.test(line));
  const why = reason === undefined ? shorten(message) : `${reason} (${shorten(message)})`;
  const isNetwork = noNetwork.test(`${message}\n${last.join("\n")}`);
  const hint =
    isNetwork && network !== "host"
      ? "use the host's network for the build: codecell image build --network host"
      : isNetwork
        ? "the build could not download Debian packages; check this machine's network"
        : "--verbose shows the output of the build; --force builds without a cache";
  return new CodecellError("image_failed", `the image could not be built: ${why}`, { hint });
}

/** Pure: why a base could not be pulled. The hint shows how to build without a registry. */
export function pullFailure(image: string, message: string): CodecellError {
  return new CodecellError("image_failed", `${image} could not be pulled: ${shorten(message)}`, {
    hint: "without a registry: codecell image build --bootstrap debian (as root), or --base with a local image",
    details: { image },
  });
}

/** Shortens the failed command, which engines repeat in full. */
function shorten(message: string): string {
  const command = /^The command '([\s\S]{60})[\s\S]*' (returned a non-zero code: \d+)/.exec(message);
  const text = command ? `The command '${command[1]}…' ${command[2]}` : message;
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}
