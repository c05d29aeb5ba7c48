// A browser for the tests, and the runs whose pages it opens. The program comes in $HEALBENCH.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const executablePath = process.env.CHROMIUM ?? places.find(existsSync);

/** Starts the browser that the system has. Its sandbox cannot be had by root. */
export const launch = () =>
  chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });

export const folder = mkdtempSync(join(tmpdir(), 'healbench-pages-'));

export const healbench = (...words) =>
  execFileSync(process.env.HEALBENCH ?? 'healbench', words, { cwd: folder, maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe'] });

/** Plays a run and writes its page: the page's path. */
export function page(name, ...words) {
  healbench('run', ...words, '--quiet', '--out', name);
  healbench('report', name, '--output', `html=${name}.html`);
  return join(folder, `${name}.html`);
}

export const address = (file) => pathToFileURL(file).href;

export function write(name, text) {
  const path = join(folder, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  return path;
}

export const sizes = {
  narrow: { width: 390, height: 844 },
  tablet: { width: 768, height: 1024 },
  wide: { width: 1280, height: 900 },
  desktop: { width: 1440, height: 900 },
  large: { width: 1920, height: 1080 },
};

/**
 * Opens an address and holds it to what every page promises: no request to elsewhere, no word on the console, no dialog. `isOwn`
 * tells whether an address of a request belongs to the page.
 */
export async function openPage(browser, url, isOwn, options = {}) {
  const context = await browser.newContext({ viewport: sizes.wide, ...options });
  const page = await context.newPage();
  const wrong = [];
  page.on('request', (request) => {
    if (!isOwn(request.url()) && !request.url().startsWith('data:')) wrong.push(`request: ${request.url()}`);
  });
  page.on('console', (message) => wrong.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => wrong.push(`error: ${error}`));
  page.on('dialog', (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  await arrive(page, url);
  return { page, close: async () => { assert.deepEqual(wrong, []); await context.close(); } };
}

/** Opens an address, and waits for a report that is still being made. */
export async function arrive(page, url) {
  await page.goto(url, { timeout: 120_000 }); // The machine may be busy.
  await page.waitForFunction(() => !document.querySelector('[data-waiting]'), null, { timeout: 120_000 });
}

/**
 * What axe finds on a page: all of its rules in the light theme, and in the dark one those that depend on colors.
 */
export async function findings(page, axe, colorScheme) {
  await page.evaluate(axe);
  // Without selectors and examples of what is not a violation.
  const options = { resultTypes: ['violations'], ...(colorScheme === 'dark' && { runOnly: { type: 'rule', values: ['color-contrast'] } }) };
  const { violations } = await page.evaluate((options) => globalThis.axe.run(options), options);
  return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(' | ')}`);
}

/** By how much the page is wider than the window. */
export const overflow = (page) => page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
