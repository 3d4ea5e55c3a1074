import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { findProgram } from "../support/find-program.ts";
import type { TestClient } from "../support/http-service.ts";

const executablePath = findProgram("chromium");
/** Why tests of the dashboard are skipped; undefined: they are not. */
export const noBrowser = executablePath === undefined ? "Chromium is not installed" : undefined;

/** One Chromium for the tests of a file. */
export function useBrowser(): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    if (executablePath) browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  });
  afterAll(() => browser?.close());
  return () => {
    if (!browser) throw new Error("Chromium has not started");
    return browser;
  };
}

export interface DashboardOptions {
  /** the fragment after the token is taken, such as `/sessions/work/files` */
  readonly at?: string;
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly colorScheme?: "light" | "dark";
  /** before the first request, such as answers of a fake */
  readonly prepare?: (page: Page) => Promise<void>;
}

/**
 * The dashboard of a client's service in its own browser context. When the test ends, it fails if the page broke its content
 * security policy, opened a dialog, threw an exception, or requested anything of another origin.
 */
export async function openDashboard(
  browser: Browser,
  client: TestClient,
  { at = "/", viewport = { width: 1280, height: 900 }, colorScheme = "light", prepare }: DashboardOptions = {},
): Promise<Page> {
  const context = await browser.newContext({ viewport, colorScheme, acceptDownloads: true });
  const page = await context.newPage();
  const wrongs = watchWrongs(page, client.url);
  onTestFinished(async () => {
    await context.close();
    expect(wrongs).toEqual([]);
  });
  await prepare?.(page);
  await page.goto(`${client.url}/#token=${client.token}`);
  if (at !== "/") await page.goto(`${client.url}/#${at}`);
  return page;
}

/** What a page must never do, as it happens. */
function watchWrongs(page: Page, origin: string): string[] {
  const wrongs: string[] = [];
  page.on("dialog", (dialog) => {
    wrongs.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("pageerror", (error) => wrongs.push(`exception: ${error.message}`));
  page.on("console", (message) => {
    // A display may try what it wants in its own frame: its policy, and not the page's, refuses it.
    const isDisplay = message.location().url.startsWith(`${origin}/v1/display/`);
    if (/content security policy/i.test(message.text()) && !isDisplay) wrongs.push(`policy: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = request.url();
    const isOwn = url.startsWith(`${origin}/`) || url.startsWith("data:") || url.startsWith(`blob:${origin}`);
    if (!isOwn) wrongs.push(`request: ${url}`);
  });
  page.on("popup", (popup) => wrongs.push(`popup: ${popup.url()}`));
  return wrongs;
}
