import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

/** Builds the page into dist/dashboard. File names contain a hash, because browsers keep them for ever. */
export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../dist/dashboard",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0, // an inlined asset would be a data: URL in a style, which the page's policy forbids
    modulePreload: { polyfill: false }, // the polyfill is an inline script
    reportCompressedSize: false,
    license: { fileName: "LICENSES.txt" },
  },
});
