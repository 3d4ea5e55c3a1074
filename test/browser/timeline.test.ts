import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { processRunner } from "../../src/runners/process/runner.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { CuttingRelay } from "../support/cutting-relay.ts";
import { TestClient, TestService } from "../support/http-service.ts";
import { skipsProcess } from "../support/process-cells.ts";
import { expectAccessible } from "./axe.ts";
import { noBrowser, openDashboard, useBrowser } from "./open-dashboard.ts";

/** The smallest PNG: one pixel. */
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const displays = `
import base64
class Plot:
    def _repr_png_(self): return base64.b64decode("${png}")
class Html:
    def _repr_html_(self): return "<table><tr><td>a cell</td></tr></table><script>parent.document.title = 'taken'</script>"
class Svg:
    def _repr_svg_(self): return "<svg xmlns='http://www.w3.org/2000/svg' height='40'><script>alert(1)</script><text y='20'>drawn</text></svg>"
class Rows:
    def _repr_json_(self): return [{"fruit": "apple", "price": 3}, {"fruit": "<b>pear</b>", "price": 4}]
print("before")
display(Plot())
print("between")
display(Html(), Svg(), Rows())
print("after")
`;

describe.skipIf(noBrowser)("the timeline and the console", () => {
  const browser = useBrowser();
  let service: TestService;
  let relay: CuttingRelay;
  let client: TestClient;

  beforeAll(async () => {
    relay = await CuttingRelay.listen();
    service = await TestService.open({
      runners: [skipsProcess ? wasmRunner() : processRunner()],
      policy: { proc: { timeout: "60s" }, ...(skipsProcess ? {} : { session: { undo: 1 } }) },
      hostNames: [new URL(relay.url).host],
    });
    relay.target = service.listener.port;
    client = await service.client("alice");
  });
  afterAll(async () => {
    await service?.[Symbol.asyncDispose]();
    await relay?.[Symbol.asyncDispose]();
  });

  /** The timeline of a session that has run some code. */
  async function open(session: string, codes: readonly string[], via = client): Promise<Page> {
    await client.session(session);
    for (const code of codes) await client.run(session, code);
    const page = await openDashboard(browser(), via, { at: `/sessions/${session}/timeline` });
    await page.locator(".editor[data-ready]").waitFor();
    return page;
  }
  const editor = (page: Page) => page.getByRole("textbox", { name: "Code to run" });
  const runs = (page: Page) => page.getByRole("list", { name: "Runs" }).getByRole("listitem", { name: /^Run/ });
  async function type(page: Page, code: string): Promise<void> {
    await editor(page).click();
    await page.keyboard.insertText(code);
    await page.keyboard.press("Shift+Enter");
  }

  test("output is shown while the run is running, and Interrupt ends it", async () => {
    const page = await open("stream", []);
    await page.getByText("No runs yet").waitFor();
    await type(page, "import time\nprint('started')\nwhile True: time.sleep(0.01)");
    await runs(page).getByText("started", { exact: true }).waitFor();
    await runs(page).getByText("running").waitFor();
    await page.getByRole("button", { name: "Interrupt" }).click();
    await runs(page).getByText("interrupted", { exact: true }).waitFor();
    await runs(page).getByText("It stopped at line 3.").waitFor();
    await page.getByRole("heading", { name: "Run 1", exact: true }).waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Interrupt" }).count()).toBe(0);
  });

  test("the console answers input(), recalls earlier code, and completes names", async () => {
    const page = await open("ask", ["longname = 41"]);
    await type(page, "who = input('name? ')\nprint('hello', who)\nimport sys\nlen(sys.stdin.read())");
    await runs(page).getByText("name?").last().waitFor();
    await page.getByLabel("Input for the program").fill("Ada");
    await page.keyboard.press("Enter");
    await runs(page).getByText("hello Ada").waitFor();
    await page.getByRole("button", { name: "End input" }).click();
    await runs(page).nth(1).getByText("ok", { exact: true }).waitFor();
    await editor(page).click();
    await page.keyboard.type("longn");
    await page.keyboard.press("Tab");
    await expect.poll(() => editor(page).textContent()).toBe("longname");
    await page.keyboard.type(" + 1");
    await page.keyboard.press("Control+Enter");
    await runs(page).nth(2).getByText("42").waitFor();
    await editor(page).click();
    await page.keyboard.press("ArrowUp");
    expect(await editor(page).textContent()).toBe("longname + 1");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.type("x.");
    await page.keyboard.press("Control+z");
    await expect.poll(() => editor(page).textContent()).not.toContain("x.");
  });

  test("the styles of the editor are style sheets of its shadow root", async () => {
    const page = await open("styles", []);
    await editor(page).click();
    await page.keyboard.insertText("def f(): pass");
    const facts = (await page.evaluate(`(() => {
      const { shadowRoot } = document.querySelector(".editor");
      const colour = (node) => getComputedStyle(node).color;
      return {
        sheets: shadowRoot.adoptedStyleSheets.length,
        elements: document.querySelectorAll("style").length + shadowRoot.querySelectorAll("style").length,
        isColoured: colour(shadowRoot.querySelector(".tok-keyword")) !== colour(document.body),
      };
    })()`)) as { sheets: number; elements: number; isColoured: boolean };
    expect(facts).toMatchObject({ elements: 0, isColoured: true });
    expect(facts.sheets).toBeGreaterThan(0);
  });

  test("code, output and displays are in order, and nothing of a display can act", async () => {
    const page = await open("rich", ["first = 1", "def f(): return 1 / 0\nf()"]);
    const framed = page.waitForResponse((response) => response.url().includes("/v1/display/"));
    await client.run("rich", displays); // by another client, while the page is open
    await expect.poll(() => runs(page).getByRole("heading").allTextContents()).toEqual(["Run 1", "Run 2", "Run 3"]);
    await runs(page).nth(1).getByText("ZeroDivisionError").first().waitFor();
    await runs(page).nth(1).getByText("line 1, in f").waitFor();
    const shown = runs(page).nth(2);
    await shown.getByRole("img", { name: "Picture: display 1 of run 3" }).waitFor();
    expect(await page.evaluate("document.querySelector('.run img').naturalWidth")).toBe(1);
    const frame = shown.locator("iframe").first();
    await frame.contentFrame().getByText("a cell").waitFor();
    await shown.locator("iframe").nth(1).contentFrame().getByText("drawn").waitFor();
    expect(await frame.getAttribute("sandbox")).toBe("");
    const policy = (await framed).headers()["content-security-policy"];
    expect(policy).toMatch(/^sandbox; default-src 'none';/);
    expect(await page.title()).toBe("codecell");
    await shown.getByRole("cell", { name: "<b>pear</b>" }).waitFor();
    const order = await page.evaluate(
      "[...document.querySelectorAll('.run:last-child :is(.output, .display)')].map((part) => (part.matches('.output') ? part.textContent.trim() : 'display'))",
    );
    expect(order).toEqual(["before", "display", "between", "display", "display", "display", "after"]);
    await page.getByRole("searchbox").fill("zerodivision");
    await page.getByText("1 of 3 runs").waitFor();
    expect(await runs(page).count()).toBe(1);
  });

  test("terminal colours and progress bars are shown as a terminal shows them", async () => {
    const code =
      "print('\\x1b[31mred\\x1b[0m \\x1b[38;2;1;2;3mrgb\\x1b[0m')\nprint('10%\\r100%')\nprint('<img src=x onerror=alert(1)>')";
    const page = await open("colours", [code]);
    const output = runs(page).locator(".output");
    expect(await output.textContent()).toBe("red rgb\n100%\n<img src=x onerror=alert(1)>\n");
    expect(await output.locator(".fg-1").textContent()).toBe("red");
    const colour = await page.evaluate("getComputedStyle(document.querySelectorAll('.output span')[1]).color");
    expect(colour).toBe("rgb(1, 2, 3)");
  });

  test("200 runs are painted within a second, and 10,000 lines are usable", async () => {
    await client.session("long");
    for (let run = 1; run < 200; run++)
      await client.run("long", `x = ${run}\nfor i in range(5): print("line", i, x)\nx`);
    await client.run("long", "for i in range(10_000): print('row', i)");
    const page = await open("long", []);
    await page.reload();
    await runs(page).last().getByText("row 9999").waitFor();
    const paintedMs = Number(await page.evaluate("performance.getEntriesByName('codecell.runs')[0].startTime"));
    console.info(`200 runs are painted ${Math.round(paintedMs)} ms after the page is requested`);
    expect(paintedMs).toBeLessThan(10_000); // wall time: less than 1,000 on an idle machine
    await expect.poll(() => runs(page).count()).toBe(200);
    const last = runs(page).last();
    expect(await last.locator(".output").textContent()).toMatch(/row 49\n.*9,900 lines hidden.*row 9950\n/s);
    await last.getByRole("button", { name: "Show 1,000 more" }).click();
    await last.getByText("row 1049").waitFor();
    await last.getByRole("button", { name: "Show all 10,000 lines" }).click();
    const text = await last.locator(".output").textContent();
    expect(text?.split("\n").filter((line) => line.startsWith("row ")).length).toBe(10_000);
    await type(page, "'still usable'");
    await runs(page).nth(200).getByText("'still usable'").last().waitFor();
  });

  test("a connection that is lost in mid-run loses nothing", async () => {
    const page = await open("cut", [], new TestClient(relay.url, client.token));
    await type(page, "import sys\nfor line in sys.stdin: print('got', line, end='', flush=True)");
    await page.getByLabel("Input for the program").fill("one");
    await page.keyboard.press("Enter");
    await runs(page).getByText("got one").waitFor();
    const { json } = await client.call("GET", "/v1/sessions/cut/runs");
    const path = `/v1/sessions/cut/runs/${json.runs[0].run_id}/stdin`;
    relay.cut();
    await client.call("POST", path, { text: "two\n" });
    await runs(page).getByText("got two").waitFor();
    relay.cut();
    await client.call("POST", path, { text: "three\n", end: true });
    await runs(page).getByText("ok", { exact: true }).waitFor();
    expect(await runs(page).locator(".output").textContent()).toBe("got one\ngot two\ngot three\n");
    expect(relay.connections).toBeGreaterThan(2);
  });

  test("the runs are exported as a notebook", async () => {
    const page = await open("export", ["print('in the notebook')"]);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export as notebook" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("export.ipynb");
    const notebook = JSON.parse(await readFile(await download.path(), "utf8"));
    expect(notebook).toMatchObject({ nbformat: 4 });
    expect(JSON.stringify(notebook.cells)).toContain("in the notebook");
  });

  test("a value that is displayed as a table is not shown again as text", async () => {
    const table = [
      "class Table:",
      "    def _repr_html_(self): return '<table><tr><td>pear</td></tr></table>'",
      "    def __repr__(self): return 'a table of pears'",
    ].join("\n");
    const page = await open("tables", [`${table}\nTable()`, "'other'"]);
    await runs(page).nth(0).locator("iframe").contentFrame().getByRole("cell", { name: "pear" }).waitFor();
    await runs(page).nth(1).locator(".value").waitFor();
    expect(await page.locator(".value").allTextContents()).toEqual(["'other'"]);
    const cell = runs(page).nth(0).locator("iframe").contentFrame().locator("td");
    expect(await cell.evaluate("getComputedStyle(document.querySelector('td')).borderTopWidth")).toBe("1px");
  });

  test("a page that is opened during a run shows its code", async () => {
    await client.session("late");
    const running = await client.call("POST", "/v1/sessions/late/runs", {
      code: "input('go?')",
      stdin_stream: true,
      wait: 0,
    });
    const page = await openDashboard(browser(), client, { at: "/sessions/late/timeline" });
    const card = page.getByRole("listitem", { name: "Run 1" });
    await card.getByText("input('go?')").waitFor();
    await card.getByText("running").waitFor();
    await client.call("POST", `/v1/sessions/late/runs/${running.json.run_id}/cancel`);
    await card.getByText("cancelled").waitFor();
  });

  test("the keyboard is enough, and axe finds nothing in light and dark", async () => {
    const page = await open("keys", ["print('a')", "1 / 0", displays]);
    await runs(page).nth(2).locator("iframe").first().waitFor();
    await page.getByRole("searchbox").focus();
    for (let tabs = 0; tabs < 30 && !(await isInEditor(page)); tabs++) await page.keyboard.press("Tab");
    expect(await isInEditor(page)).toBe(true);
    await page.keyboard.type("if True:\nprint('typed')");
    await page.keyboard.press("Escape");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Run");
    await page.keyboard.press("Enter");
    await runs(page).nth(3).getByText("typed", { exact: true }).waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.tagName")).toBe("SELECT");
    await expectAccessible(page);
    await page.getByRole("button", { name: "System theme" }).click();
    await page.getByRole("button", { name: "Light theme" }).click();
    await expectAccessible(page);
  });

  test("a token that can only read is told why it cannot run code", async () => {
    await client.session("looked-at");
    const prepare = async (page: Page) => {
      await page.route("**/v1/me", async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...(await response.json()), scopes: ["read"] } });
      });
    };
    const page = await openDashboard(browser(), client, { at: "/sessions/looked-at/timeline", prepare });
    await page.getByText("This token can only read").waitFor();
    expect(await page.locator(".editor").count()).toBe(0);
    await page.getByRole("button", { name: "Export as notebook" }).waitFor(); // needs no other right
  });

  test.skipIf(skipsProcess)("the head of a session shows its state, and its buttons say what they did", async () => {
    const page = await open("head", ["x = 1"]);
    const head = page.locator(".session-head");
    await head.getByText("live", { exact: true }).waitFor();
    await client.run("head", "x = 2");
    await head.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Undo" }).click();
    await head.getByText(/^Run 2 was undone/).waitFor();
    expect((await client.call("GET", "/v1/sessions/head/variables/x")).json.value).toBe(1);
    await head.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Undo" }).click();
    await head.getByRole("alert").getByText("roll back to a checkpoint").waitFor(); // the remedy
    await head.getByRole("button", { name: "Checkpoint" }).click();
    await page.getByLabel("Name of the checkpoint").fill("clean");
    await page.keyboard.press("Enter");
    await head.getByText("Checkpoint clean was created after run").waitFor();
    await head.getByRole("button", { name: "Reset" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Reset" }).click();
    await head.getByText("The variables were cleared.").waitFor();
    await head.getByRole("button", { name: "Fork" }).click();
    await page.getByLabel("Name of the new session").fill("head-fork");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "head-fork" }).waitFor();
    await head.getByRole("button", { name: "Close" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    await page.waitForURL(/#\/sessions$/);
    expect(
      (await client.call("GET", "/v1/sessions")).json.sessions.map((one: { session_id: string }) => one.session_id),
    ).not.toContain("head-fork");
  });
});

function isInEditor(page: Page): Promise<boolean> {
  return page.evaluate("document.activeElement.shadowRoot?.activeElement?.matches('.cm-content') === true");
}
