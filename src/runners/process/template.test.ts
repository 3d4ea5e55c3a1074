import { expect, test } from "vitest";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import { templateFailure, templateImports } from "./template.ts";

const traceback = 'Traceback (most recent call last):\n  File "<string>", line 6, in <module>\n';

test("a template that cannot import a preloaded module says which, and where to install it", () => {
  const error = templateFailure(`${traceback}ModuleNotFoundError: No module named 'nosuch'`);
  expect(error.message).toBe("kernel.preload failed: No module named 'nosuch'");
  expect(error.hint).toContain("remove it from kernel.preload");
  expect(error.details.diagnostics).toContain("Traceback");
});

test("a template on a full disk asks for space, and not for other settings", () => {
  const error = templateFailure(`${traceback}OSError: [Errno 28] No space left on device`);
  expect(error.message).toContain("No space left on device");
  expect(error.hint).toMatch(/^free some space/);
});

test("a template that exits for another reason shows its last line only", () => {
  expect(templateFailure(`${traceback}ValueError: no`).message).toBe("the template process exited: ValueError: no");
  expect(templateFailure("").message).toBe("the template process exited: no reason given");
});

test("the template imports the policy's modules, but nothing where a package could supply it", () => {
  const policy = parsePolicy({ kernel: { preload: ["numpy"] } });
  const path = ["/usr/lib/python3.11", "/usr/lib/python3/dist-packages"];
  expect(templateImports({ path, mounts: [] }, policy)).toEqual({ path, preload: ["numpy"] });
  const mounts = [{ source: "/sets/1/tree", target: "/deps" }];
  expect(templateImports({ path: [...path, "/deps"], mounts }, policy)).toEqual({ path: [], preload: [] });
});
