import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

/** A package that contains only package.json, as a registry serves it. */
export function npmPackage(name: string): { tarball: Buffer; document: (tarballUrl: string) => object } {
  const version = "1.0.0";
  const tarball = gzipSync(tarOf("package/package.json", JSON.stringify({ name, version })));
  const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
  const document = (url: string) => ({
    name,
    "dist-tags": { latest: version },
    versions: { [version]: { name, version, dist: { tarball: url, integrity } } },
  });
  return { tarball, document };
}

/** A ustar archive of one file. */
function tarOf(path: string, content: string): Buffer {
  const body = Buffer.from(content);
  const head = Buffer.alloc(512);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  head.write(path, 0);
  head.write(octal(0o644, 7), 100);
  head.write(octal(0, 7), 108);
  head.write(octal(0, 7), 116);
  head.write(octal(body.length, 11), 124);
  head.write(octal(0, 11), 136);
  head.write("        0", 148); // spaces in place of the checksum, then the type: a file
  head.write("ustar\x0000", 257);
  const sum = head.reduce((total, byte) => total + byte, 0);
  head.write(`${octal(sum, 6)} `, 148);
  const padding = Buffer.alloc((512 - (body.length % 512)) % 512);
  return Buffer.concat([head, body, padding, Buffer.alloc(1024)]);
}
