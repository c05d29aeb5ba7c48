// `healbench view` in a real browser: from the list of runs to a page, an episode, a comparison, and a run under way.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, it } from 'node:test';
import { folder, healbench, launch, sizes } from './browser.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser;
let server;
let home;

before(async () => {
  for (const [name, trials] of [['base', '2'], ['candidate', '3']]) {
    healbench('run', 'quickstart', '--agent', 'scripted:typical', '--format', 'fusion-xml', '--trials', trials, '--quiet', '--out', `runs/${name}`);
  }
  server = spawn(process.env.HEALBENCH ?? 'healbench', ['view', 'runs'], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
  home = await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.stdout.once('data', (line) => resolve(String(line).trim()));
  });
  browser = await launch();
});

after(async () => {
  await browser?.close();
  server?.kill('SIGINT');
  rmSync(folder, { recursive: true, force: true });
});

/** A page that is held to asking this server only, and to no word on the console. */
async function visit(path, options = {}) {
  const context = await browser.newContext({ viewport: sizes.wide, ...options });
  const page = await context.newPage();
  const wrong = [];
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(home) && !url.startsWith('data:')) wrong.push(`request: ${url}`);
  });
  page.on('console', (message) => wrong.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => wrong.push(`error: ${error}`));
  await page.goto(home + path);
  return { page, close: async () => { assert.deepEqual(wrong, []); await context.close(); } };
}

it('listens on loopback', () => assert.match(home, /^http:\/\/127\.0\.0\.1:\d+\/$/));

it('leads from the list to a run, to an episode, and to another setting', async () => {
  const { page, close } = await visit('');
  await page.getByRole('link', { name: 'candidate', exact: true }).click();
  await page.locator('.answer').first().waitFor();
  const row = page.locator('#rows > details[data-flips="1"]').first();
  await row.locator(':scope > summary').click();
  await row.getByRole('link', { name: /^episode/ }).first().click();
  assert.equal(await page.locator('.transcript').count(), 1);
  await page.getByRole('link', { name: /all fusion-xml/ }).click();
  assert.equal(await page.locator('.transcript').count(), 2);
  await page.getByRole('link', { name: 'All runs' }).click();
  assert.equal(page.url(), home);
  await close();
});

it('compares two runs', async () => {
  const { page, close } = await visit('compare?base=base&candidate=candidate');
  assert.match(await page.locator('main').innerText(), /No metric differs[\s\S]*only one run has trial 2/);
  await close();
});

for (const [name, viewport] of Object.entries(sizes)) {
  it(`has nothing for axe, ${name}`, async () => {
    for (const path of ['', 'runs/base/', 'runs/base/episodes/0', 'compare?base=base&candidate=candidate', 'runs/absent/']) {
      const context = await browser.newContext({ viewport, bypassCSP: true });
      const page = await context.newPage();
      await page.goto(home + path);
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      assert.deepEqual(violations.map(({ id, impact, nodes }) => `${path}: ${impact} ${id}: ${nodes[0].html.slice(0, 200)}`), []);
      assert.ok((await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth)) <= 0, path);
      await context.close();
    }
  });
}
