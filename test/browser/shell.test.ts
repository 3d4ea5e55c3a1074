import { expect, onTestFinished, test } from "vitest";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { TestService } from "../support/http-service.ts";
import { noBrowser, openDashboard, useBrowser } from "./open-dashboard.ts";

const browser = useBrowser();

test.skipIf(noBrowser)("the token leaves the address, and a reload keeps the page signed in", async () => {
  const service = await TestService.open({ runners: [wasmRunner()] });
  onTestFinished(() => service[Symbol.asyncDispose]());
  const client = await service.client("alice");
  const page = await openDashboard(browser(), client);
  await page.getByRole("heading", { name: "Sessions" }).waitFor();
  expect(page.url()).not.toContain(client.token);
  await page.reload();
  await page.getByRole("heading", { name: "Sessions" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  const stored = await page.evaluate("JSON.stringify([{ ...sessionStorage }, { ...localStorage }])");
  expect(stored).not.toContain(client.token);
});

test.skipIf(noBrowser)("the link to the content keeps the place, and a token that ends says why", async () => {
  const service = await TestService.open({ runners: [wasmRunner()] });
  onTestFinished(() => service[Symbol.asyncDispose]());
  const client = await service.client("alice");
  const page = await openDashboard(browser(), client, { at: "/sessions/nobody/files" });
  await page.getByText("There is no such session").waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  expect(await page.evaluate("document.activeElement.id")).toBe("main");
  expect(page.url()).toContain("#/sessions/nobody/files");
  await service.tokens.remove("alice");
  await page.getByRole("link", { name: "All sessions" }).click();
  await page.getByText("The service does not accept this token.").waitFor();
});

test.skipIf(noBrowser)(
  "a link with another token asks before it is taken in the same tab, and the token leaves the address",
  async () => {
    const service = await TestService.open({ runners: [wasmRunner()] });
    onTestFinished(() => service[Symbol.asyncDispose]());
    const page = await openDashboard(browser(), await service.client("alice"));
    await page.getByText("alice", { exact: false }).first().waitFor();
    const bob = await service.client("bob");
    const who = page.locator(".who");
    await page.goto(`${bob.url}/#token=${bob.token}`);
    await page.getByRole("button", { name: "Keep the current token" }).click();
    expect(await who.textContent()).toBe("alice");
    await page.goto(`${bob.url}/#token=${bob.token}`);
    await page.getByRole("button", { name: "Switch" }).click();
    await page.getByText("bob", { exact: false }).first().waitFor();
    expect(page.url()).not.toContain("token=");
    expect(await page.getByRole("dialog").count()).toBe(0);
  },
);
