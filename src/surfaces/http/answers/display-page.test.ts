import { expect, test } from "vitest";
import { cpuMsOf } from "../../../../test/support/cpu-time.ts";
import type { DisplayType } from "../../../service/links/display-link.ts";
import { displayPage } from "./display-page.ts";

const page = (type: DisplayType, content: string) => Buffer.from(displayPage(type, Buffer.from(content))).toString();

test("a piece of HTML gets a style before its own, in a page of today's rules", () => {
  const shown = page("text/html", "<style>td { color: red }</style><table></table>");
  expect(shown).toMatch(/^<!doctype html>.*<style>.*color-scheme: light dark.*<\/style>.*\n<style>td/);
  expect(shown).toMatch(/<table><\/table>$/);
});

test.each(["<!DOCTYPE html><p>x", "\n <html lang=en>", "<!-- made by x --><head>"])(
  "%s is a document and is shown as it is",
  (text) => {
    expect(page("text/html", text)).toBe(text);
  },
);

test("SVG is shown as it is", () => {
  expect(page("image/svg+xml", "<svg/>")).toBe("<svg/>");
});

const html = (text: string) => page("text/html", text);
const svg = (text: string) => page("image/svg+xml", text);

test.each([
  "<link rel=preconnect href=//x.example>",
  "<LiNk/rel=preconnect>",
  "<link\n>",
  "<iframe srcdoc='&lt;link>'>",
  "<FRAME src=//x.example>",
  "<object/>",
  "<svg><link rel=preconnect>",
])("%j names no element that connects", (text) => {
  expect(html(text)).not.toMatch(/<(?:link|i?frame|object)/i);
});

test("other elements and text stay as they are", () => {
  const markup = "<linked-list>é</linked-list><p>a link</p><svg><linearGradient/></svg>";
  expect(html(markup)).toContain(`\n${markup}`);
  expect(svg(markup)).toBe(markup);
});

test("no element of a picture is a link, with a prefix, from an entity, or in another encoding", () => {
  expect(svg('<svg><h:link xmlns:h="http://www.w3.org/1999/xhtml"/></svg>')).not.toContain("<h:link");
  expect(svg("<!DOCTYPE svg [<!ENTITY a '&#60;link/>'>]><svg>&a;</svg>")).not.toContain("<!ENTITY");
  const long = "a".repeat(101);
  expect(svg(`<svg><${long}:link xmlns:${long}="http://www.w3.org/1999/xhtml"/></svg>`)).not.toContain(`<${long}:link`);
  expect(svg('<?XML-stylesheet type="text/xsl" href="#x"?><svg/>')).not.toMatch(/xml-stylesheet/i);
  const utf16 = Buffer.from("\ufeff<link rel=preconnect>", "utf16le");
  expect(displayPage("text/html", utf16).subarray(0, 2)).not.toEqual(utf16.subarray(0, 2));
});

test("a picture with many prefixes that have no end takes time in proportion to its size", async () => {
  const spent = (count: number) => cpuMsOf(() => svg(`<svg>${"<aaaaaaaaaaaaaaaaaaaa".repeat(count)}`));
  expect(await spent(200_000)).toBeLessThan(2_000); // quadratic: minutes
});
