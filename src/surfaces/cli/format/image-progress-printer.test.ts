import { expect, onTestFinished, test, vi } from "vitest";
import { FakeTerminal } from "../../../../test/fakes/fake-terminal.ts";
import { ImageProgressPrinter } from "./image-progress-printer.ts";

test("on a terminal, the progress of a build has the step and the time, which runs on while nothing is printed", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { stderr } = new FakeTerminal({ isTTY: true });
  let nowMs = 1_000;
  using printer = new ImageProgressPrinter(stderr, { verbose: false, now: () => nowMs });
  const lastLine = () => stderr.text.split("\u001b[2K").at(-1);
  printer.print({ type: "step", text: "creating a base image" });
  printer.print({ type: "detail", text: "Retrieving libc6" });
  expect(stderr.text).toContain("codecell: [0:00] creating a base image\n");
  expect(lastLine()).toBe("  0:00  Retrieving libc6");
  nowMs += 65_000;
  vi.advanceTimersByTime(1_000);
  expect(lastLine()).toBe("  1:05  Retrieving libc6");
  printer.print({ type: "step", text: "importing it" });
  expect(stderr.text).toContain("codecell: [1:05] importing it\n");
});

test("without a terminal, the progress of a build is one plain line per step", () => {
  const { stderr } = new FakeTerminal();
  using printer = new ImageProgressPrinter(stderr, { verbose: false });
  printer.print({ type: "step", text: "creating a base image" });
  printer.print({ type: "detail", text: "Retrieving libc6" });
  expect(stderr.text).toBe("codecell: creating a base image\n");
});
