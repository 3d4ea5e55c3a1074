import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { processRunner } from "../../src/runners/process/runner.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { TestService } from "../support/http-service.ts";
import { skipsProcess } from "../support/process-cells.ts";
import { fakeApi, sendEvent } from "./fake-api.ts";
import { hostileAnswers } from "./hostile-answers.ts";
import { corpus } from "./hostile-corpus.ts";
import { noBrowser, openDashboard, useBrowser } from "./open-dashboard.ts";

const browser = useBrowser();
const panels = ["timeline", "variables", "files", "checkpoints", "network", "limits", "receipt", "models", "audit"];

/** Opens everything that opens on its own page, and says what the texts have made of the page. */
async function openAll(page: Page): Promise<void> {
  await page.evaluate("for (const one of document.querySelectorAll('details:not([open])')) one.open = true");
}

async function expectHarmless(page: Page): Promise<void> {
  const found = await page.evaluate(`({
    made: [...document.querySelectorAll("[data-xss], main script, main object, main embed, base, meta[http-equiv]")].length,
    ran: globalThis.xss,
    links: [...document.querySelectorAll("[href], [src], [action], [formaction]")]
      .flatMap((one) => [one.getAttribute("href"), one.getAttribute("src"), one.getAttribute("action")])
      .filter((to) => to !== null && !to.startsWith(location.origin + "/assets/") && !/^(#|\\/assets\\/|\\/v1\\/display\\/|blob:|data:image\\/(png|jpeg|gif|webp);|\\.?\\/?icon)/.test(to)),
    handlers: [...document.querySelectorAll("*")].filter((one) => one.getAttributeNames().some((name) => name.startsWith("on"))).length,
    wide: document.documentElement.scrollWidth > innerWidth + 1,
    deceiving: [...document.querySelectorAll("main *")]
      .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && /[\\u202a-\\u202e\\u2066-\\u2069]/.test(node.data)))
      .map((one) => one.tagName + "." + one.className + " in " + one.parentElement.className),
  })`);
  expect(found).toEqual({ made: 0, ran: undefined, links: [], handlers: 0, wide: false, deceiving: [] });
}

test.skipIf(noBrowser)("hostile text in every field of every answer stays text, from a fake service", async () => {
  const service = await TestService.open({ runners: [wasmRunner()] });
  onTestFinished(() => service[Symbol.asyncDispose]());
  const client = await service.client("alice");
  const page = await openDashboard(browser(), client, { prepare: (page) => fakeApi(page, hostileAnswers) });
  await page.getByRole("heading", { name: "Sessions" }).waitFor();
  await page
    .locator("tbody tr")
    .nth(corpus.length - 1)
    .waitFor();
  await expectHarmless(page);
  await page.goto(`${client.url}/#/service`);
  await page.getByRole("heading", { name: "Tenants" }).waitFor();
  await page.locator(".plot canvas").nth(7).waitFor();
  await openAll(page);
  await expectHarmless(page);
  for (const panel of panels) {
    await page.goto(`${client.url}/#/sessions/${encodeURIComponent(corpus[1] ?? "")}/${panel}`);
    await page.locator(`.panel.${panel}`).getByText("<svg data-xss", { exact: false }).first().waitFor();
    await openAll(page);
    for (const text of corpus.slice(0, 3)) {
      const event = { type: "run.ended", session_id: corpus[1], status: text, code: text, host: text, run: 1 };
      await sendEvent(page, event);
    }
    await expectHarmless(page);
  }
});

test.skipIf(noBrowser)("files, values and agents with hostile content stay text when they are opened", async () => {
  const service = await TestService.open({ runners: [wasmRunner()] });
  onTestFinished(() => service[Symbol.asyncDispose]());
  const client = await service.client("alice");
  const prepare = (page: Page) => fakeApi(page, hostileAnswers);
  const page = await openDashboard(browser(), client, { at: "/sessions/x/files", prepare });
  for (const name of ["x.csv", "x.tsv", "x.json", "x.ipynb", "x.svg", "x.html", "x.txt", "x.png"]) {
    await page.getByRole("button", { name, exact: true }).click();
    await page.getByRole("heading", { name }).first().waitFor();
    await page.waitForLoadState("networkidle");
    await openAll(page);
    await expectHarmless(page);
  }
  await page.goto(`${client.url}/#/sessions/x/variables`);
  await page.getByRole("button", { name: "__proto__" }).first().click();
  await page.waitForLoadState("networkidle");
  await expectHarmless(page);
  await page.goto(`${client.url}/#/sessions/x/models`);
  await page.getByRole("button", { name: "__proto__" }).first().click();
  await page.getByRole("region", { name: "What the agent did" }).waitFor();
  await openAll(page);
  await expectHarmless(page);
});

test.skipIf(noBrowser)("a real session that wrote hostile text everywhere harms no panel", async () => {
  const service = await TestService.open({ runners: [skipsProcess ? wasmRunner() : processRunner()], audit: true });
  onTestFinished(() => service[Symbol.asyncDispose]());
  const client = await service.client("alice", { scopes: ["run", "audit", "metrics"] });
  await client.session("work");
  const texts = corpus.filter((text) => text.length < 500 && !/[\ud800-\udfff]/.test(text));
  await client.run("work", hostileProgram(texts));
  await client.run("work", `raise type(${JSON.stringify(texts[0])}, (Exception,), {})(${JSON.stringify(texts[1])})`);
  await client.run("work", String(texts[2]));
  const page = await openDashboard(browser(), client, { at: "/sessions/work/timeline" });
  for (const panel of panels) {
    await page.goto(`${client.url}/#/sessions/work/${panel}`);
    await page.locator(`.panel.${panel} > *`).first().waitFor({ state: "attached" });
    await page.getByText("Loading…").waitFor({ state: "detached" });
    if (panel === "timeline") await page.locator(".panel.timeline").getByText("<svg data-xss").first().waitFor();
    await openAll(page);
    await expectHarmless(page);
  }
});

/** Prints, displays, names and stores each text. */
function hostileProgram(texts: readonly string[]): string {
  return `
import json, sys, os
texts = json.loads(${JSON.stringify(JSON.stringify(texts))})
for index, text in enumerate(texts):
    print(text)
    print(text, file=sys.stderr)
    globals()[text] = text
    try:
        name = text.replace("/", "_").replace("\\0", "_")[:100]
        with open(name, "w") as file:
            file.write(text)
    except (OSError, ValueError):
        pass
class Shown:
    def __init__(self, text): self.text = text
    def _repr_html_(self): return self.text
    def _repr_svg_(self): return self.text
    def __repr__(self): return self.text
for text in texts[:6]:
    display(Shown(text))
Shown(texts[0])
`;
}
