import { describe, expect, test } from "vitest";
import { parseHtmlPage } from "./html-page.ts";
import { parseJsonPage } from "./json-page.ts";

const page = new URL("https://packages.example/simple/lib/");
const hash = "AB".repeat(32);

describe("a page of an index", () => {
  test("in HTML gives its links, relative to the page, with what they say", () => {
    const files = parseHtmlPage(
      `<!DOCTYPE html><title><a></title><a name=x>no</a>
       <A HREF='../../f/lib-1.whl#sha256=${hash}' data-requires-python="&gt;=3.8,&lt;4" data-yanked>x</A>
       <a href="https://files.example/lib-2%2Blocal.whl" data-dist-info-metadata="sha256=${hash}" href="second">y</a>
       <a href="data:text/plain,x">z</a><a href="https://user:pass@files.example/q.whl">q</a>`,
      page,
    );
    expect(files.map(({ url, ...rest }) => ({ url: url.href, ...rest }))).toEqual([
      {
        ...{ name: "lib-1.whl", url: "https://packages.example/f/lib-1.whl", sha256: hash.toLowerCase(), yanked: true },
        ...{ requiresPython: ">=3.8,<4", uploadedMs: undefined, metadataSha256: undefined },
      },
      {
        ...{
          name: "lib-2+local.whl",
          url: "https://files.example/lib-2%2Blocal.whl",
          sha256: undefined,
          yanked: false,
        },
        ...{ requiresPython: undefined, uploadedMs: undefined, metadataSha256: hash.toLowerCase() },
      },
    ]);
  });

  test("in JSON gives the same, and the time of the upload", () => {
    const files = [
      {
        ...{ filename: "lib-1.whl", url: "/f/lib-1.whl", hashes: { sha256: hash, md5: "x" }, yanked: "broken" },
        ...{ "requires-python": ">=3.8", "upload-time": "2026-01-02T03:04:05.6Z", "core-metadata": { sha256: hash } },
      },
      {
        filename: "lib-2.whl",
        url: "lib-2.whl",
        hashes: { sha256: "../x" },
        "upload-time": "soon",
        "core-metadata": true,
      },
    ];
    const text = JSON.stringify({ meta: { "api-version": "1.4" }, name: "lib", files });
    expect(parseJsonPage(text, page)?.map(({ url, ...rest }) => ({ url: url.href, ...rest }))).toEqual([
      {
        ...{ name: "lib-1.whl", url: "https://packages.example/f/lib-1.whl", sha256: hash.toLowerCase(), yanked: true },
        ...{
          requiresPython: ">=3.8",
          uploadedMs: Date.parse("2026-01-02T03:04:05.600Z"),
          metadataSha256: hash.toLowerCase(),
        },
      },
      {
        ...{
          name: "lib-2.whl",
          url: "https://packages.example/simple/lib/lib-2.whl",
          sha256: undefined,
          yanked: false,
        },
        ...{ requiresPython: undefined, uploadedMs: undefined, metadataSha256: undefined },
      },
    ]);
  });

  test("names of JavaScript's own are not taken for values of the page", () => {
    const text =
      '{"meta": {"api-version": "1.0"}, "files": [{"filename": "x", "url": "x", "__proto__": {"hashes": {"sha256": "x"}}}]}';
    expect(parseJsonPage(text, page)).toMatchObject([{ name: "x", sha256: undefined }]);
  });
});
