import { describe, onTestFinished, test } from "vitest";
import { processRunner } from "../../src/runners/process/runner.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { TestService } from "../support/http-service.ts";
import { skipsProcess } from "../support/process-cells.ts";
import { isThorough } from "../support/thorough.ts";
import { type AxeRules, expectAccessible } from "./axe.ts";
import { fakeApi } from "./fake-api.ts";
import { listAnswers } from "./list-answers.ts";
import { noBrowser, openDashboard, useBrowser } from "./open-dashboard.ts";

const browser = useBrowser();
const panels = ["timeline", "variables", "files", "checkpoints", "network", "limits", "receipt", "models", "audit"];
const looks = {
  light: { colorScheme: "light", viewport: { width: 1280, height: 900 } },
  dark: { colorScheme: "dark", viewport: { width: 1280, height: 900 } },
  "light and narrow": { colorScheme: "light", viewport: { width: 390, height: 800 } },
} as const;
type Look = (typeof looks)[keyof typeof looks];
/** A dark page has other colours than a light one and the same names, roles and order; a narrow one the other way round. */
const rulesOf = (look: Look): AxeRules => {
  if (isThorough || look === looks.light) return "all";
  return look === looks.dark ? "contrast" : "without contrast";
};

describe.skipIf(noBrowser)("axe finds nothing", () => {
  test.each(Object.entries(looks))("in a real session, %s", async (_name, look) => {
    const service = await TestService.open({ runners: [skipsProcess ? wasmRunner() : processRunner()], audit: true });
    onTestFinished(() => service[Symbol.asyncDispose]());
    const client = await service.client("alice", { scopes: ["run", "audit", "metrics"] });
    const page = await openDashboard(browser(), client, look);
    await page.getByText("No sessions yet").waitFor();
    await expectAccessible(page, rulesOf(look));
    await client.session("work");
    await client.run(
      "work",
      "import sys\nx = [1, 2]\nopen('a.csv', 'w').write('a,b\\n1,2')\nprint('\\x1b[31mred', file=sys.stderr)\nx",
    );
    await client.run("work", "1 / 0");
    await client.call("POST", "/v1/sessions/work/checkpoints", { name: "first" });
    for (const panel of panels) {
      await page.goto(`${client.url}/#/sessions/work/${panel}`);
      await page.locator(`.panel.${panel} > *`).first().waitFor({ state: "attached" });
      await page.getByText("Loading…").waitFor({ state: "detached" });
      await expectAccessible(page, rulesOf(look));
    }
    await page.goto(`${client.url}/#/service`);
    await page.getByText("Runners in use").waitFor();
    await expectAccessible(page, rulesOf(look));
    await page.goto(`${client.url}/#/sessions`);
    await page.getByRole("link", { name: "work" }).waitFor();
    await page.getByRole("button", { name: "New session" }).click();
    await page.getByRole("dialog").waitFor(); // it opens after the next frame; before that, Escape closes nothing
    await expectAccessible(page, rulesOf(look));
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    await expectAccessible(page, rulesOf(look));
  });

  test.each(Object.entries(looks))("in lists, plots and logs of a fake service, %s", async (_name, look) => {
    const service = await TestService.open({ runners: [wasmRunner()] });
    onTestFinished(() => service[Symbol.asyncDispose]());
    const client = await service.client("alice");
    const prepare = (page: Parameters<typeof fakeApi>[0]) => fakeApi(page, listAnswers({ sessions: 12 }));
    const page = await openDashboard(browser(), client, { ...look, prepare });
    for (const at of ["/", "/service", ...["network", "limits", "models"].map((panel) => `/sessions/s-1/${panel}`)]) {
      await page.goto(`${client.url}/#${at}`);
      await page.locator("main table").first().waitFor({ state: "attached" });
      if (at.endsWith("models")) await page.getByRole("button", { name: "question -> answer" }).click();
      await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
      await expectAccessible(page, rulesOf(look));
    }
  });
});
