import { expect, test } from "vitest";
import { outputPattern } from "../support/doc-examples.ts";
import { readersShell, walkthroughs } from "../support/walkthroughs.ts";
import { engineFor } from "./context.ts";

const docker = engineFor("container");
const steps = walkthroughs.flatMap((tour) => tour.steps).filter(({ needs }) => needs === "container");

test.skipIf(docker === undefined)("the walkthrough in a container prints what the page shows", async () => {
  await using shell = await readersShell({ DOCKER_HOST: docker ?? "" });
  expect(steps).toHaveLength(1);
  for (const { script, output } of steps) expect(await shell.paste(script)).toMatch(outputPattern(output));
});
