import { CodecellError } from "../../../lib/errors.ts";

const host = "[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::[0-9]{1,5})?";
const component = "[a-z0-9]+(?:[._-]+[a-z0-9]+)*";
/** Names that engines accept: an optional registry, lower-case components, and a tag or a digest. */
const shape = new RegExp(
  `^(?:${host}/)?${component}(?:/${component})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}|@sha256:[0-9a-f]{64})?$`,
);

/** Rejects an invalid image name. The name becomes part of a request's path, so this stops path injection. */
export function checkImageName(name: string, what: string): string {
  if (name.length <= 255 && shape.test(name)) return name;
  throw new CodecellError("usage", `${what}: ${JSON.stringify(name.slice(0, 100))} is not a valid image name`, {
    hint: "use a name such as debian:bookworm-slim or registry.example:5000/team/python:1",
  });
}

/** Pure: repository and tag. The default tag is `latest`, as in engines. A digest is returned as the tag. */
export function splitImageName(name: string): { repository: string; tag: string } {
  const digest = name.indexOf("@");
  if (digest >= 0) return { repository: name.slice(0, digest), tag: name.slice(digest + 1) };
  const colon = name.lastIndexOf(":");
  // a colon before a slash is a port
  if (colon < 0 || name.includes("/", colon)) return { repository: name, tag: "latest" };
  return { repository: name.slice(0, colon), tag: name.slice(colon + 1) };
}
