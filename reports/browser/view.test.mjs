// `healbench view` in a real browser: from the list of runs to a page, an episode, a comparison, and a run under way.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, it } from 'node:test';
import { arrive, findings, folder, healbench, launch, openPage, overflow, sizes, write } from './browser.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser;
let server;
let home;

before(async () => {
  for (const [name, trials] of [['base', '2'], ['candidate', '3']]) {
    healbench('run', 'quickstart', '--agent', 'scripted:typical', '--format', 'fusion-xml', '--trials', trials, '--quiet', '--out', `runs/${name}`);
  }
  healbench('run', 'quickstart/bad-date', '--agent', 'scripted:typical', '--format', 'fusion-xml,zod-json', '--trials', '2', '--quiet', '--out', 'runs/three');
  healbench('run', 'quickstart/bad-date', 'quickstart/wrong-enum', '--agent', 'scripted:perfect', '--format', 'fusion-xml', '--trials', '1', '--quiet', '--out', 'runs/small');
  // One scenario with another text: its episodes end after the first call.
  const text = readFileSync(new URL('../../scenarios/suites/quickstart/wrong-enum.yaml', import.meta.url), 'utf8');
  write('edited/wrong-enum.yaml', text.replace(/max_calls: \d+/, 'max_calls: 1'));
  healbench('run', 'edited', '--agent', 'scripted:typical', '--format', 'fusion-xml', '--trials', '2', '--quiet', '--out', 'runs/edited');
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

const visit = (path, options) => openPage(browser, home + path, (url) => url.startsWith(home), options);

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
  assert.equal(await page.locator('.aligned thead th').count(), 2);
  await page.getByRole('link', { name: 'All runs' }).click();
  assert.equal(page.url(), home);
  await close();
});

it('lists episodes by filters in the address, with keys and marked hits', async () => {
  const { page, close } = await visit('runs/base/');
  await page.getByRole('link', { name: 'all episodes' }).click();
  await page.getByLabel('Outcome').selectOption('failure');
  await page.getByLabel('Text of a response').fill('VALIDATION_error');
  await page.getByRole('button', { name: 'Filter' }).click();
  assert.match(page.url(), /outcome=failure.*q=VALIDATION_error/);
  const [, found, all] = (await page.getByRole('status').first().innerText()).match(/^([\d,]+) of ([\d,]+) episodes/);
  assert.ok(Number(found) > 1 && Number(found) < Number(all));
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.locator('mark.hit').first().waitFor();
  assert.equal((await page.locator('mark.hit').first().innerText()).toLowerCase(), 'validation_error');
  const second = page.url();
  await page.keyboard.press('ArrowLeft');
  await page.waitForURL((url) => url.href !== second);
  const first = page.url();
  assert.match(first, /episodes\/\d+\?outcome=failure&q=VALIDATION_error$/);
  await page.keyboard.press('j');
  await page.waitForURL(second);
  await page.evaluate(() => { navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }; });
  for (const [name, pattern] of [['link', /outcome=failure/], ['Markdown', /^```text\n/], ['JSON', /"steps"/]]) {
    await page.getByRole('button', { name: `Copy ${name}` }).click();
    await page.getByText(`${name} copied`).waitFor();
    assert.match(await page.evaluate(() => globalThis.copied), pattern);
  }
  await page.getByRole('link', { name: 'filtered episodes' }).click();
  assert.equal(await page.getByLabel('Outcome').inputValue(), 'failure');
  await close();
});

it('shows the history of a suite, and both transcripts of a flip', async () => {
  const { page, close } = await visit('');
  await page.getByRole('link', { name: 'History' }).click();
  assert.equal(await page.locator('svg.history a').count(), 4, 'two charts of two runs');
  const labels = await page.$$eval('svg.history', (charts) => charts.map((chart) => {
    const [head, ...values] = Array.from(chart.querySelectorAll('text'), (text) => text.getBoundingClientRect());
    return values.map((value) => value.top - head.bottom);
  }));
  assert.ok(labels.flat().length === 4 && labels.flat().every((room) => room >= 0), JSON.stringify(labels));
  const suite = page.locator('table', { hasText: 'candidate' });
  const rows = await suite.locator('tbody tr').allInnerTexts();
  assert.ok(rows.length === 2 && /^candidate/.test(rows[0]) && /first run/.test(rows[1]), JSON.stringify(rows));
  await page.locator('svg.history a').last().focus();
  assert.match(await page.locator('.tip').innerText(), /^candidate: billed tokens per episode/);
  await suite.getByRole('link', { name: 'compare' }).click();
  assert.match(page.url(), /compare\?base=base&candidate=candidate$/);
  await close();
  const other = await visit('compare?base=base&candidate=edited');
  assert.match(await other.page.locator('.diff del').first().innerText(), /^- /);
  const button = other.page.getByRole('button', { name: 'show both' }).first();
  await button.click();
  await other.page.locator('.pair .transcript').nth(1).waitFor();
  for (const viewport of [sizes.wide, sizes.narrow]) {
    await other.page.setViewportSize(viewport);
    const sides = await other.page.$$eval('.both .transcript', (found) => found.map((side) => {
      const { left, right, top, bottom } = side.getBoundingClientRect();
      return { name: side.innerText.split('\n')[0], left, right, top, bottom, spills: side.scrollWidth > side.clientWidth };
    }));
    const [base, candidate] = sides;
    assert.deepEqual(sides.map(({ name }) => name), ['base', 'candidate']);
    assert.ok(sides.every(({ left, right, spills }) => !spills && left >= 0 && right <= viewport.width), JSON.stringify(sides));
    assert.ok(base.right <= candidate.left || base.bottom <= candidate.top, JSON.stringify(sides));
  }
  assert.equal(await button.getAttribute('aria-expanded'), 'true');
  await button.click();
  assert.equal(await other.page.locator('.pair').count(), 0);
  await other.close();
});

it('compares two runs', async () => {
  const { page, close } = await visit('compare?base=base&candidate=candidate');
  assert.match(await page.locator('main').innerText(), /Unchanged: no metric differs in 60 pairs[\s\S]*only one run has trial 2/);
  await close();
});

it('shows an episode beside the same trial under other conditions, aligned by call', async () => {
  const { page, close } = await visit('runs/three/episodes?scenario=bad-date');
  await page.locator('#episodes tbody th a').first().click();
  const heads = page.locator('.aligned thead th');
  const others = page.getByRole('navigation', { name: /other conditions/ });
  assert.equal(await heads.count(), 0);
  assert.equal(await others.locator('.chosen').count(), 1);
  await others.getByRole('link', { name: 'all', exact: true }).click();
  await heads.nth(2).waitFor();
  assert.equal(await heads.count(), 3);
  const calls = await page.locator('.aligned tbody tr').first().locator('td').evaluateAll((cells) =>
    cells.map((cell) => ({ text: cell.innerText, top: cell.querySelector('.who').getBoundingClientRect().top })));
  assert.ok(calls.every(({ text }) => /\bcall 1\b/.test(text)) && new Set(calls.map(({ top }) => top)).size === 1, JSON.stringify(calls));
  assert.ok((await page.locator('.aligned .repair mark').count()) > 0, 'changed arguments are marked');
  await others.getByRole('link', { name: /zod-json/ }).click();
  await page.waitForFunction(() => document.querySelectorAll('.aligned thead th').length === 2);
  // The filter of the list is kept, so that keys lead on.
  assert.match(page.url(), /scenario=bad-date.*versus=\d+$/);
  assert.equal(await others.locator('.chosen').count(), 2);
  await close();
});

for (const [name, viewport] of Object.entries(sizes)) {
  for (const colorScheme of ['light', 'dark']) {
    it(`has nothing for axe, ${name} and ${colorScheme}`, async () => {
      for (const path of ['', 'history', 'compare?base=base&candidate=edited', 'runs/small/', 'runs/small/episodes', 'runs/small/episodes?q=error', 'runs/small/episodes/0?q=error', 'runs/small/episodes/0?versus=2', 'compare?base=base&candidate=candidate', 'runs/absent/']) {
        const context = await browser.newContext({ viewport, colorScheme, bypassCSP: true });
        const page = await context.newPage();
        await arrive(page, home + path);
        assert.deepEqual(await findings(page, axe, colorScheme), [], path);
        assert.ok((await overflow(page)) <= 0, path);
        await context.close();
      }
    });
  }
}
