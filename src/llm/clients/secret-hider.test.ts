import { describe, expect, test } from "vitest";
import { errorHider, secretHider } from "./secret-hider.ts";

const secret = "abc/def+0123456789";
const hide = secretHider([secret, "ollama"]);

describe("secret hider", () => {
  test.each([
    ["as it is", `x ${secret} y ${secret}`, "x [key] y [key]"],
    ["in a URL", `?key=${encodeURIComponent(secret)}&b`, "?key=[key]&b"],
    ["in base64", `Basic ${Buffer.from(secret).toString("base64")}`, "Basic [key]"],
    ["as its start, at the end of a text", `cut off: ${secret.slice(0, 9)}`, "cut off: [key]"],
  ])("hides a secret %s", (_, text, hidden) => {
    expect(hide(text)).toBe(hidden);
  });

  test("leaves common words alone, although they are the key of a server that needs none", () => {
    expect(hide("ollama answers: abc/def")).toBe("ollama answers: abc/def");
  });

  test("hides what looks like a key in errors, and not in answers", () => {
    const text = "found sk-live-0123456789abcdef in the file, and Bearer 0123456789abcdef0";
    expect(hide(text)).toBe(text);
    expect(errorHider(hide)(text)).toBe("found [key] in the file, and [key]");
  });
});
