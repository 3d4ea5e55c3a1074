import { expect, test } from "vitest";
import { templateFailure } from "./template.ts";

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
