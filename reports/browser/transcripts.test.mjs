// Heat maps, ranked conditions and transcripts of the page of a run: what leads where, and what its address restores.

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { address, folder, launch, openPage, overflow, page as made, sizes } from './browser.mjs';

let browser;
let file;

before(async () => {
  file = made('formats', 'quickstart', '--agent', 'scripted:perfect,scripted:typical', '--format', 'all', '--trials', '5');
  browser = await launch();
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

const open = (fragment = '', options = {}) =>
  openPage(browser, address(file) + fragment, (url) => url.split('#')[0] === address(file), options);
const heads = (page) => page.locator('.aligned thead th').evaluateAll((heads) => heads.map((head) => head.firstChild.firstChild.data.trim()));

describe('from a cell to its transcripts', () => {
  it('opens the scenario of a cell under its condition, beside the reference', async () => {
    const { page, close } = await open();
    const map = page.locator('details.map', { has: page.locator('.grid') }).filter({ hasText: 'scripted:typical' }).first();
    const cell = map.locator('tr', { hasText: 'quickstart/bad-date' }).locator('td a').last();
    const condition = Number(await cell.getAttribute('data-c'));
    await cell.click();
    await page.locator('.aligned').waitFor();
    const shown = await heads(page);
    assert.equal(shown.length, 2);
    assert.equal(shown[0], 'no guardrails');
    const labels = await page.locator('fieldset label').allInnerTexts();
    assert.equal(shown[1], labels[condition].trim());
    const row = page.locator('#rows > details[open]');
    assert.equal(await row.count(), 1);
    assert.match(await row.locator('summary').innerText(), /quickstart\/bad-date[\s\S]*scripted:typical/);
    // The way back leads to the map, and stays on the page.
    await page.goBack();
    assert.equal(page.url(), address(file));
    await close();
  });

  it('says on a narrow screen how each episode ended', async () => {
    const { page, close } = await open('', { viewport: sizes.narrow });
    await page.locator('#rows > details > summary').first().click();
    await page.locator('.aligned tbody tr td').first().waitFor();
    const labels = await page.locator('.aligned tbody tr').first().locator('td').evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell, '::before').content));
    assert.ok(labels.length >= 2 && labels.every((label) => /: [a-z][a-z ]*; \d+ of 5 trials [^;]+; episode \d+"$/.test(label)), labels.join('\n'));
    await close();
  });

  it('shows any conditions side by side, aligned by call, with the whole error text and its tokens', async () => {
    const { page, close } = await open('', { viewport: sizes.large });
    await page.locator('#rows > details > summary').first().click();
    for (const label of ['all zod-json', 'all serde', 'all pydantic']) await page.getByLabel(label, { exact: true }).check();
    assert.deepEqual(await heads(page), ['no guardrails', 'all fusion-xml', 'all zod-json', 'all pydantic', 'all serde']);
    const calls = await page.locator('.aligned tbody tr').first().locator('td').evaluateAll((cells) =>
      cells.map((cell) => ({ text: cell.innerText, top: cell.querySelector('.who').getBoundingClientRect().top })));
    assert.ok(calls.every(({ text }) => /^call 1\b[\s\S]*tokens? back/.test(text)), JSON.stringify(calls));
    assert.equal(new Set(calls.map(({ top }) => top)).size, 1, 'the calls of a row stand at one height');
    const errors = await page.locator('.aligned pre.failed').evaluateAll((texts) => texts.map((text) => text.scrollHeight - text.clientHeight));
    assert.ok(errors.length >= 5 && errors.every((hidden) => hidden <= 1), 'no error text is in a scroll box');
    await page.getByLabel('all serde', { exact: true }).uncheck();
    assert.equal((await heads(page)).length, 4);
    // The commands below are those of the episodes above.
    const episodes = await page.locator('.aligned thead .sure').evaluateAll((heads) => heads.map((head) => head.textContent.match(/episode (\d+)$/)[1]));
    const commands = await page.locator('#rows > details[open] [data-full] code').allInnerTexts();
    assert.deepEqual(commands.map((command) => command.match(/^healbench show .* (\d+)$/)[1]), episodes);
    await close();
  });

  it('says how typical a trial is, a typical one first', async () => {
    const { page, close } = await open();
    const rows = page.locator('#rows > details');
    let several = 0;
    for (let index = 0; index < await rows.count() && several < 2; index += 1) {
      const row = rows.nth(index);
      await row.locator(':scope > summary').click();
      await row.locator('.aligned').waitFor();
      const trials = await row.locator('.switch select option').allInnerTexts();
      if (trials.length > 1) {
        several += 1;
        const alike = trials.map((text) => text.match(/^(typical|different): trial \d+, (\d+) of 5 trials alike$/));
        assert.deepEqual(alike.map(([, kind]) => kind), ['typical', 'different']);
        assert.ok(Number(alike[0][2]) >= Number(alike[1][2]));
        const before = await row.locator('.aligned').innerText();
        await row.locator('.switch select').selectOption({ index: 1 });
        assert.notEqual(await row.locator('.aligned').innerText(), before);
      }
      assert.match(await row.locator('.aligned thead').innerText(), /\d of 5 trials (succeed|do not succeed)/);
    }
    assert.ok(several > 0, 'a row has trials of two kinds');
    await close();
  });

  it('goes from a ranked condition to the scenarios of its agent', async () => {
    const { page, close } = await open();
    const list = page.locator('details.map', { has: page.locator('.ranked') }).filter({ hasText: 'scripted:typical' });
    await list.getByRole('link', { name: 'all serde', exact: true }).click();
    await page.locator('.aligned').waitFor();
    assert.deepEqual(await heads(page), ['no guardrails', 'all serde']);
    const agents = await page.locator('#rows > details:visible > summary > span:nth-child(2)').allInnerTexts();
    assert.ok(agents.length > 5 && agents.every((agent) => agent === 'scripted:typical'));
    await close();
  });
});

describe('the address of a page', () => {
  it('restores filter, order and sort, and the open transcript', async () => {
    const first = await open();
    const { page } = first;
    const tools = page.locator('[data-tools="rows"]');
    await tools.getByRole('searchbox').fill('bad');
    await tools.getByLabel('Agent').selectOption({ label: 'scripted:typical' });
    await tools.getByLabel('Order').selectOption({ label: 'of the plan' });
    await page.locator('#rates th', { hasText: 'success' }).first().getByRole('button').click();
    await page.locator('#rows > details:visible > summary').first().click();
    await page.getByLabel('all zod-json', { exact: true }).check();
    const state = {
      rows: await page.locator('#rows > details:visible summary').allInnerTexts(),
      rates: await page.locator('#rates tbody tr').allInnerTexts(),
      heads: await heads(page),
      transcript: await page.locator('.aligned').innerText(),
    };
    assert.equal(state.rows.length, 1);
    const fragment = await page.evaluate(() => location.hash);
    await first.close();
    const second = await open(fragment);
    await second.page.locator('.aligned').waitFor();
    assert.deepEqual({
      rows: await second.page.locator('#rows > details:visible summary').allInnerTexts(),
      rates: await second.page.locator('#rates tbody tr').allInnerTexts(),
      heads: await heads(second.page),
      transcript: await second.page.locator('.aligned').innerText(),
    }, state);
    // Another address of the same page, as after following a link.
    await second.page.evaluate(() => { location.hash = 'q=wrong'; });
    await second.page.waitForFunction(() => document.querySelector('[data-tools="rows"] [role=status]').textContent.startsWith('6 of 30'));
    await second.close();
  });

  it('may be wrong without harm', async () => {
    const { page, close } = await open('#open=99.99&show=x&trial=-1&order=evil&agent=77&sort.rates=1000,up&q=%');
    assert.equal(await page.locator('#rows > details[open]').count(), 0);
    await close();
  });

  it('is copied, as are Markdown and JSON', async () => {
    const { page, close } = await open();
    await page.locator('#rows > details > summary').first().click();
    await page.locator('.aligned').waitFor();
    await page.evaluate(() => { navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }; });
    const copy = async (name) => {
      await page.getByRole('button', { name: `Copy ${name}` }).click();
      await page.getByText(`${name} copied`).waitFor();
      return page.evaluate(() => globalThis.copied);
    };
    assert.match(await copy('link'), /^file:.*#.*open=\d+\.\d+&show=0,1/);
    assert.match(await copy('Markdown'), /^### quickstart\/[\s\S]*#### no guardrails: [\s\S]*Call 1:\n```\n/);
    const json = JSON.parse(await copy('JSON'));
    assert.equal(json.episodes.length, 2);
    assert.ok(json.episodes[1].steps.some((step) => step.response.length > 20));
    await close();
  });

  it('goes through rows by keys', async () => {
    const { page, close } = await open();
    const focused = () => page.evaluate(() => document.activeElement.closest('details')?.id);
    const ids = await page.locator('#rows > details').evaluateAll((rows) => rows.map((row) => row.id));
    await page.keyboard.press('j');
    assert.equal(await focused(), ids[0]);
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    assert.equal(await focused(), ids[1]);
    await close();
  });
});

describe('tables', () => {
  for (const [name, viewport] of Object.entries(sizes)) {
    it(`cut no column off, and keep heads and first columns in sight, ${name}`, async () => {
      const { page, close } = await open('', { viewport });
      await page.$$eval('main details:not(#rows > details)', (all) => all.forEach((details) => { details.open = true; }));
      await page.locator('#rows > details > summary').first().click();
      await page.locator('.aligned').waitFor();
      assert.ok((await overflow(page)) <= 0);
      const regions = await page.$$eval('.scroll', (regions) => regions.filter((region) => region.clientWidth > 0).map((region) => {
        const hidden = region.scrollWidth - region.clientWidth;
        region.scrollLeft = 1e6;
        region.scrollTop = 1e6;
        const box = region.getBoundingClientRect();
        const first = region.querySelector('tbody th[scope=row]')?.getBoundingClientRect();
        const head = region.querySelector('thead th:last-child').getBoundingClientRect();
        const last = region.querySelector('tbody tr:last-child > :last-child').getBoundingClientRect();
        const told = {
          name: region.getAttribute('aria-label'), hidden, focusable: region.tabIndex === 0,
          firstStays: !first || first.left >= box.left - 1, lastSeen: last.right <= box.right + 1, headStays: head.height < 2 || head.top >= box.top - 1,
        };
        region.scrollLeft = 0;
        region.scrollTop = 0;
        return told;
      }));
      assert.ok(regions.length > 5);
      for (const region of regions) {
        assert.ok(region.focusable && region.lastSeen && region.headStays, JSON.stringify(region));
        if (region.hidden > 0) assert.ok(viewport.width < 1280 && region.firstStays, JSON.stringify(region));
      }
      await close();
    });
  }
});
