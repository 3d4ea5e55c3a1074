import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditDirectory } from "../../src/audit/chain/chain-files.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { type TestClient, TestService } from "../support/http-service.ts";
import { skipsProcess } from "../support/process-cells.ts";
import { expectAccessible } from "./axe.ts";
import { type DashboardOptions, noBrowser, openDashboard, useBrowser } from "./open-dashboard.ts";

/** A tag that a page must show as text, with marks that reverse what is read. */
const hostile = "<img src=x onerror=alert(1)>\u202Egnp";
const shownHostile = "<img src=x onerror=alert(1)>\\u202egnp";
/** The service lists no file names that reverse text, so this one has a mark that nobody sees. */
const hostileFile = "<img src=x onerror=alert(1)>\u200b.txt";
const shownFile = "<img src=x onerror=alert(1)>\\u200b.txt";

const browser = useBrowser();
let service: TestService;
let client: TestClient;

beforeAll(async () => {
  if (noBrowser) return;
  const policy = { session: { undo: 2 } };
  service = await TestService.open({ runners: [processRunner(), wasmRunner()], policy, audit: true });
  client = await service.client("alice", { scopes: ["run", "audit"] });
});
afterAll(() => service?.[Symbol.asyncDispose]());

let sessions = 0;
/** A page that shows one panel of a new session, after it has run `code`. */
async function openPanel(
  panel: string,
  code: string,
  look: Omit<DashboardOptions, "at"> = {},
): Promise<{ page: Page; session: string }> {
  const session = await client.session(`s${++sessions}`);
  expect((await client.run(session, code)).json.status).toBe("ok");
  return { page: await openDashboard(browser(), client, { at: `/sessions/${session}/${panel}`, ...look }), session };
}

const put = (session: string, path: string, body: string | Uint8Array<ArrayBuffer>) =>
  client.fetch(`/v1/sessions/${session}/files/${path.split("/").map(encodeURIComponent).join("/")}`, {
    method: "PUT",
    body,
  });
const nameOf = (text: string) => new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));

describe.skipIf(noBrowser)("variables", () => {
  test("are listed, searched and shown, and follow the runs", async () => {
    const { page, session } = await openPanel("variables", "rows = [3, 1, 2]\nname = 'alice'");
    await page.getByRole("button", { name: "rows" }).click();
    const value = page.getByRole("region", { name: "Value of rows" });
    await value.getByText("3,").waitFor();
    await expectAccessible(page);
    await client.run(session, "rows = {'sorted': True}\nadded = 1");
    await value.getByText('"sorted": true').waitFor();
    await page.getByRole("button", { name: "added" }).waitFor();
    await page.getByLabel("Search variables").fill("nam");
    await page.getByText("1 of 3 variables").waitFor();
    expect(await page.getByRole("button", { name: "rows" }).count()).toBe(0);
  });

  test("wait for a run without holding a request", async () => {
    const { page, session } = await openPanel("variables", "before = 1");
    await page.getByRole("button", { name: "before" }).waitFor();
    const run = await client.run(session, "after = 2\nimport time\nfor _ in range(600): time.sleep(0.1)", { wait: 0 });
    await page.getByText("A run is running; variables appear when it ends.").waitFor();
    await page.reload();
    await page.getByText("A run is running; variables appear when it ends.").waitFor();
    await client.call("POST", `/v1/sessions/${session}/runs/${run.json.run_id}/interrupt`);
    await page.getByRole("button", { name: "after" }).waitFor();
  });

  test("of hostile code are text", async () => {
    const name = JSON.stringify(hostile);
    const code = `globals()[${name}] = 1\nclass A:\n  def __repr__(self): return ${name}\nA.__name__ = ${name}\nvalue = A()`;
    const { page } = await openPanel("variables", code);
    await page.getByRole("button", { name: "value" }).click();
    await page.locator(".value-view pre").getByText(shownHostile).waitFor();
    expect(await page.locator("img").count()).toBe(0);
    expect(await page.locator("body").textContent()).not.toContain("\u202e");
  });

  test("of another tenant can be read by an admin", async () => {
    const session = await client.session(`s${++sessions}`);
    await client.run(session, "x = [1]");
    const { namespace } = (await client.call("GET", "/v1/me")).json;
    const admin = await service.client("root", { scopes: ["admin"] });
    const at = `/sessions/${session}/variables?namespace=${namespace}`;
    const page = await openDashboard(browser(), admin, { at });
    await page.getByRole("button", { name: "x" }).click();
    await page.getByRole("region", { name: "Value of x" }).getByText("[").waitFor();
  });
});

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const notebook = {
  cells: [
    {
      cell_type: "code",
      source: ["1 + 1"],
      outputs: [
        { output_type: "execute_result", data: { "text/html": "<b>two</b>", "text/plain": "2" } },
        { output_type: "display_data", data: { "image/png": png.toString("base64") } },
      ],
    },
  ],
};

describe.skipIf(noBrowser)("files", () => {
  test("are shown as what they are", async () => {
    const { page, session } = await openPanel("files", "1");
    await page.getByText("There are no files").waitFor();
    await expectAccessible(page);
    await put(session, "a.png", new Uint8Array(png));
    await put(session, "b.csv", `city,size\n"Bern, CH",1\n${"x,2\n".repeat(600)}`);
    await put(session, "c.json", '{"a":[1,2]}');
    await put(session, "d.txt", "one\ntwo\n");
    await put(session, "e.ipynb", JSON.stringify(notebook));
    await put(session, "f.bin", Uint8Array.of(0, 1, 2, 255));
    await put(session, "g.svg", "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>");
    await put(session, "data/raw/in.txt", "deep");
    const view = (name: string) => page.getByRole("region", { name: `File ${name}` });
    const open = async (name: string) => {
      await page.getByRole("button", { name, exact: true }).click();
      return view(name);
    };
    await (await open("a.png")).getByRole("img").waitFor();
    const picture = "document.querySelector('.file-picture')";
    expect(await page.evaluate(`${picture}.decode().then(() => ${picture}.naturalWidth)`)).toBe(1);
    const table = await open("b.csv");
    await table.getByRole("cell", { name: "Bern, CH" }).waitFor();
    await table.getByText("the first 499 rows, 2 columns. Download the file to see all of it.").waitFor();
    await expectAccessible(page);
    await (await open("c.json")).getByText('"a": [').waitFor();
    await (await open("d.txt")).getByRole("listitem").nth(1).getByText("two").waitFor();
    const cells = await open("e.ipynb");
    await cells.getByText("2", { exact: true }).waitFor();
    await cells.getByRole("img").waitFor();
    expect(await cells.getByText("two").count()).toBe(0);
    await (await open("f.bin")).getByText("00 01 02 ff").waitFor();
    await (await open("g.svg")).getByText("onload='alert(1)'").waitFor();
    await page.getByRole("button", { name: "data/" }).click();
    await page.getByRole("button", { name: "raw/" }).click();
    await (await open("in.txt").then(() => view("data/raw/in.txt"))).getByText("deep").waitFor();
    await page.getByRole("button", { name: "All files" }).click();
    await page.getByLabel("Search files").fill("IN.T");
    await page.getByRole("button", { name: "data/raw/in.txt" }).waitFor();
  });

  test("with hostile names and content are text, can be saved and deleted", async () => {
    const { page, session } = await openPanel("files", "1", {
      viewport: { width: 390, height: 800 },
      colorScheme: "dark",
    });
    await put(session, hostileFile, "<script>alert(1)</script>\u202E");
    await put(session, "x.csv", `${hostile},b\n=1+1,<script>alert(2)</script>\n`);
    await page.getByRole("button", { name: shownFile }).click();
    const file = page.getByRole("region", { name: nameOf(shownFile) });
    await file.getByText("<script>alert(1)</script>\\u202e").waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      file.getByRole("button", { name: "Download" }).click(),
    ]);
    expect(download.suggestedFilename()).not.toMatch(/[<>\u200b]/);
    expect(await readFile(await download.path(), "utf8")).toBe("<script>alert(1)</script>\u202E");
    await file.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete this file?" });
    await dialog.waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await page.locator(":focus").textContent()).toBe("Delete");
    await file.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: shownFile }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "x.csv" }).click();
    await page.getByRole("columnheader", { name: nameOf(shownHostile) }).waitFor();
    expect(await page.locator("main img, main script").count()).toBe(0);
  });

  test("are uploaded by a button and by dropping them, and each says how it went", async () => {
    const { page, session } = await openPanel("files", "1");
    await page.getByText("There are no files").waitFor();
    await page.getByLabel("Files to upload").setInputFiles([
      { name: "one.txt", mimeType: "text/plain", buffer: Buffer.from("1") },
      { name: "two.txt", mimeType: "text/plain", buffer: Buffer.from("2") },
    ]);
    const uploads = page.getByRole("region", { name: "Uploads" });
    await expect.poll(() => uploads.getByText("uploaded").count()).toBe(2);
    await drop(page, { "one.txt": "changed", "three.txt": "3", [`${"long".repeat(80)}.txt`]: "x" });
    const dialog = page.getByRole("dialog", { name: "Replace 1 file?" });
    await dialog.getByText("one.txt").waitFor();
    await dialog.getByRole("button", { name: "Replace" }).click();
    await expect.poll(() => uploads.getByText("uploaded").count()).toBe(4);
    await uploads.getByText("failed").waitFor();
    await page.getByRole("button", { name: "three.txt" }).waitFor();
    expect(await client.fetch(`/v1/sessions/${session}/files/one.txt`).then((one) => one.text())).toBe("changed");
    await expectAccessible(page);
  });

  test("of a run appear when it ends", async () => {
    const { page, session } = await openPanel("files", "1");
    await page.getByText("There are no files").waitFor();
    await client.run(session, "open('out.txt', 'w').write('hi')");
    await page.getByRole("button", { name: "out.txt" }).waitFor();
  });
});

describe.skipIf(noBrowser ?? skipsProcess)("checkpoints", () => {
  const step = (page: Page, text: string | RegExp) => page.locator(".step").filter({ hasText: text });

  /** The head of the session has buttons with the same names. */
  const inPanel = (page: Page) => page.getByRole("region", { name: "checkpoints" });

  test("are created, rolled back to and deleted, and the variables follow", async () => {
    const { page, session } = await openPanel("checkpoints", "x = 1");
    await page.getByText("There are no checkpoints.", { exact: false }).waitFor();
    await inPanel(page).getByRole("button", { name: "Create checkpoint" }).click();
    const form = page.getByRole("dialog", { name: "Create a checkpoint" });
    await expectAccessible(page);
    await page.keyboard.type("clean-1");
    await page.keyboard.press("Enter");
    await form.waitFor({ state: "detached" });
    await step(page, "Checkpoint clean-1").getByText("you are here").waitFor();
    await client.run(session, "x = 2");
    await page.getByText("you are here, after run 2").waitFor();
    await page.getByRole("button", { name: "Roll back to clean-1" }).click();
    const question = page.getByRole("dialog", { name: "Roll back to clean-1?" });
    await question.getByText("what runs 2 to 2 did to them will be lost", { exact: false }).waitFor();
    await question.getByText("Files do not change.", { exact: false }).waitFor();
    await question.getByRole("button", { name: "Roll back" }).click();
    await step(page, "Rolled back to clean-1").getByText("you are here").waitFor();
    await expectAccessible(page);
    expect((await client.call("GET", `/v1/sessions/${session}/variables/x`)).json.value).toBe(1);
    await page.getByRole("button", { name: "Delete clean-1" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await step(page, "Checkpoint clean-1").getByText("no longer kept").waitFor();
    expect(await page.getByRole("button", { name: "Roll back" }).count()).toBe(0);
  });

  test("can be forked from, and both sessions link to each other", async () => {
    const { page, session } = await openPanel("checkpoints", "x = 1");
    await inPanel(page).getByRole("button", { name: "Fork" }).click();
    await page.getByLabel("Id of the new session").fill(`${session}-fork`);
    await page.keyboard.press("Enter");
    await step(page, `Forked from session ${session}`).getByText("you are here").waitFor();
    expect(page.url()).toContain(`/sessions/${session}-fork/checkpoints`);
    await page.getByRole("link", { name: session, exact: true }).click();
    await step(page, "Forked as session")
      .getByRole("link", { name: `${session}-fork` })
      .waitFor();
  });

  test("are not needed to undo a run, which says what was undone or what to do", async () => {
    const { page, session } = await openPanel("checkpoints", "x = 1");
    await client.run(session, "x = 2");
    const undo = async () => {
      await inPanel(page).getByRole("button", { name: "Undo last run" }).click();
      await page.getByRole("dialog", { name: "Undo the last run?" }).getByRole("button", { name: "Undo" }).click();
    };
    await undo();
    await page.getByText("Run 2 is undone; 1 more can be.").waitFor();
    await step(page, "Undone").getByText("you are here").waitFor();
    expect((await client.call("GET", `/v1/sessions/${session}/variables/x`)).json.value).toBe(1);
    await undo();
    await page.getByText("Run 1 is undone; no more can be.").waitFor();
    await undo();
    await page.getByRole("alert").waitFor();
  });

  test("say what went wrong", async () => {
    const { page, session } = await openPanel("checkpoints", "x = 1");
    await client.session(`${session}-taken`);
    await inPanel(page).getByRole("button", { name: "Fork" }).click();
    await page.getByLabel("Id of the new session").fill(`${session}-taken`);
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText(`${session}-taken`, { exact: false }).waitFor();
  });
});

describe.skipIf(noBrowser)("the receipt", () => {
  test("names what enforces each rule, and what is not enforced", async () => {
    const { page, session } = await openPanel("receipt", "1", { colorScheme: "dark" });
    const { receipt } = (await client.call("GET", `/v1/sessions/${session}/cell`)).json;
    const open = receipt.rules.filter(({ by }: { by: string }) => by === "nobody").length;
    await page.getByText(receipt.policy_hash).waitFor();
    await expectAccessible(page);
    const rows = page.locator(".receipt-rules tbody tr");
    expect(await rows.count()).toBe(receipt.rules.length);
    await page.getByLabel("Filter rules").fill("proc.memory");
    await page.getByRole("cell", { name: "proc.memory", exact: true }).waitFor();
    await page.getByLabel("Filter rules").fill("");
    await page.getByLabel("Only what is not enforced").check();
    await expect.poll(() => rows.count()).toBe(open);
  });
});

describe.skipIf(noBrowser)("the audit", () => {
  test("shows the events of the session as they happen, by type, and that they are sound", async () => {
    const { page, session } = await openPanel("audit", "1");
    await page.getByText("sound", { exact: true }).waitFor();
    const rows = page.getByRole("row");
    await rows.filter({ hasText: "session.opened" }).waitFor();
    await client.run(session, `print(${JSON.stringify(hostile)})`);
    await rows.filter({ hasText: "run.ended" }).nth(1).waitFor();
    await page.getByText(`print("${shownHostile}")`).first().waitFor();
    await expectAccessible(page);
    await page.getByLabel("Type").selectOption("session");
    await rows.filter({ hasText: "run.ended" }).first().waitFor({ state: "detached" });
    await rows.filter({ hasText: "session.opened" }).waitFor();
    await page.getByLabel("Type").selectOption("run");
    await page.getByLabel("Search events").fill("no such text");
    await page.getByText("No event matches the search.").waitFor();
  });

  test("says that it is damaged, and an audit that is off says how to switch it on", async () => {
    await using other = await TestService.open({ runners: [processRunner(), wasmRunner()], audit: true });
    const alice = await other.client("alice", { scopes: ["run", "audit"] });
    await alice.run(await alice.session("work"), "1");
    const ended = async () => (await alice.call("GET", "/v1/audit?type=run.ended")).json.entries.length;
    await expect.poll(ended).toBe(1); // lines are written a moment later
    const files = await readdir(auditDirectory(other.stateDir), { recursive: true, withFileTypes: true });
    for (const file of files.filter((one) => one.isFile())) {
      const path = join(file.parentPath, file.name);
      const text = await readFile(path, "latin1");
      if (text.includes("run.ended")) await writeFile(path, text.replace('"status":"ok"', '"status":"no"'), "latin1");
    }
    const page = await openDashboard(browser(), alice, { at: "/sessions/work/audit" });
    await page.getByText("damaged", { exact: true }).waitFor();
    await expectAccessible(page);
    await page.route("**/v1/me", async (route) => {
      const answer = await route.fetch();
      const me = await answer.json();
      await route.fulfill({ response: answer, json: { ...me, service: { ...me.service, audit: false } } });
    });
    await page.reload();
    await page.getByText("audit.enabled: true").waitFor();
  });

  test("says which scope is missing", async () => {
    const bob = await service.client("bob");
    const page = await openDashboard(browser(), bob, { at: `/sessions/${await bob.session("own")}/audit` });
    await page.getByText("This token may not read the audit").waitFor();
    await expectAccessible(page);
  });
});

test.skipIf(noBrowser)("a saved session starts a cell only when somebody asks for it", async () => {
  const policy = { session: { persist: true } };
  await using other = await TestService.open({ runners: [processRunner(), wasmRunner()], policy });
  const alice = await other.client("alice");
  await alice.run(await alice.session("work"), "kept = 7");
  await alice.call("DELETE", "/v1/sessions/work");
  const state = async () => (await alice.call("GET", "/v1/sessions/work")).json.state;
  const page = await openDashboard(browser(), alice, { at: "/sessions/work/variables" });
  await page.getByText("This session is saved on disk").waitFor();
  await page.getByRole("link", { name: "Files" }).click();
  await page.getByText("Its files can be read when it is loaded into a cell.").waitFor();
  await page.getByRole("link", { name: "Checkpoints" }).click();
  await page.getByText("you are here").waitFor();
  await page.getByRole("link", { name: "Receipt" }).click();
  const start = page.getByRole("button", { name: "Start the cell to see the receipt" });
  await start.waitFor();
  expect(await state()).toBe("saved");
  await start.click();
  await start.waitFor({ state: "detached" }); // the receipt is the cell's now, and not that of the last run
  await alice.call("DELETE", "/v1/sessions/work");
  await start.waitFor(); // as it was saved by somebody else, the page does not start it again
  expect(await state()).toBe("saved");
  await page.getByRole("link", { name: "Variables" }).click();
  const load = page.getByRole("button", { name: "Load it" });
  await load.click();
  await page.getByRole("button", { name: "kept" }).waitFor();
  expect(await state()).toBe("live");
  await alice.call("DELETE", "/v1/sessions/work");
  await load.waitFor();
  expect(await state()).toBe("saved");
});

/** Drops files on the panel, as a user does from a file manager. */
async function drop(page: Page, files: Record<string, string>): Promise<void> {
  const adding = Object.entries(files).map((file) => {
    const [name, text] = file.map((one) => JSON.stringify(one));
    return `transfer.items.add(new File([${text}], ${name}));`;
  });
  const dataTransfer = await page.evaluateHandle(
    `(() => { const transfer = new DataTransfer(); ${adding.join("")} return transfer; })()`,
  );
  await page.locator("h1").dispatchEvent("dragenter", { dataTransfer }); // anywhere on the page
  await page.locator(".drop-zone.over").waitFor();
  await page.locator("h1").dispatchEvent("drop", { dataTransfer });
}
