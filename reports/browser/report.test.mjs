// The page of a run in a real browser. What numbers are on it is held by Rust's tests; here it is whether people can use it.

import assert from 'node:assert/strict';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, describe, it } from 'node:test';
import { address, findings, folder, healbench, launch, openPage, overflow, page as made, sizes, write } from './browser.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const MOST_BYTES = 3 * 1024 * 1024;

let browser;
let full;
let formats;
/** Pages of few scenarios for axe, whose time grows with the page. */
let small;

/** Readers of three skills. */
const readers = ['--agent', 'scripted:blind,scripted:typical,scripted:perfect'];

before(async () => {
  full = made('full', 'quickstart', ...readers, '--guardrails', 'full', '--format', 'fusion-xml', '--trials', '2');
  formats = made('formats', 'quickstart', ...readers, '--format', 'all', '--trials', '1');
  const few = ['quickstart/bad-date', 'quickstart/wrong-enum', 'quickstart/rate-limit', 'quickstart/control-nothing-wrong'];
  small = [
    made('small-full', ...few, '--agent', 'scripted:perfect,scripted:typical', '--guardrails', 'full', '--format', 'fusion-xml', '--trials', '2'),
    made('small-formats', ...few, '--agent', 'scripted:perfect,scripted:typical', '--format', 'all', '--trials', '1'),
    made('small-two', ...few, '--agent', 'scripted:perfect,scripted:typical', '--format', 'fusion-xml', '--trials', '1'),
  ];
  browser = await launch();
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

const open = (file, options) => openPage(browser, address(file), (url) => url.split('#')[0] === address(file), options);

const cells = (page, table, column) =>
  page.$$eval(`#${table} tbody tr`, (rows, column) => rows.map((row) => row.cells[column].dataset.v), column);
const openRows = (page) => page.locator('#rows > details:visible');
/** A row that ends differently under both conditions, because an argument is changed. */
const flip = (page) => page.locator('#rows > details[data-flips="1"][data-agent="1"]', { hasText: 'bad-date' }).first();

describe('charts', () => {
  it('say their values on hover and on focus, and lead to transcripts', async () => {
    const { page, close } = await open(full);
    const mark = page.locator('#effects ~ .figures .wide a.mark').nth(1);
    const name = await mark.getAttribute('aria-label');
    assert.match(name, /^[\w:. ×-]+: [+-]?[\d<.]+ \[/);
    const tip = page.locator('.tip');
    assert.ok(!(await tip.isVisible()));
    await mark.scrollIntoViewIfNeeded();
    const box = await mark.boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    assert.ok((await tip.innerText()).split('\n').includes(name), 'one of the marks that lie upon each other');
    await page.keyboard.press('Escape');
    assert.ok(!(await tip.isVisible()));
    await mark.focus();
    assert.equal(await tip.innerText(), name);
    const agent = await mark.getAttribute('data-agent');
    await mark.press('Enter');
    await page.locator('.aligned').waitFor();
    assert.equal(await page.locator('#rows > details[open]').first().getAttribute('data-agent'), agent);
    await close();
  });

  it('have one color for an agent', async () => {
    const { page, close } = await open(full);
    const dots = (agent) => page.$$eval(`.ranked [href="#scenarios"][data-agent="${agent}"]`, (links) =>
      links.map((link) => link.closest('tr').querySelector('.dot')).filter(Boolean).map((dot) => getComputedStyle(dot).color));
    const [first, second] = [new Set(await dots(0)), new Set(await dots(1))];
    assert.ok(first.size === 1 && second.size === 1 && [...first][0] !== [...second][0]);
    const drawn = await page.$$eval('#effects ~ .figures .wide circle, #effects ~ .figures .wide polygon', (marks) =>
      [...new Set(marks.map((mark) => getComputedStyle(mark)).flatMap((style) => [style.fill, style.stroke]))]);
    for (const color of [...first, ...second]) assert.ok(drawn.includes(color), `${color} is not in ${drawn}`);
    await close();
  });
});

describe('the page of a run', () => {
  for (const [name, viewport] of Object.entries(sizes)) {
    it(`opens from disk and asks for nothing, ${name}`, async () => {
      for (const file of [full, formats]) {
        const { page, close } = await open(file, { viewport });
        assert.match(await page.title(), /healbench/);
        assert.ok((await page.locator('.answer').count()) === 3);
        assert.ok((await overflow(page)) <= 0, 'nothing is wider than the window');
        if (file === full) await page.locator('.chart:visible').first().waitFor();
        await close();
      }
    });

    it(`has text in charts that can be read, ${name}`, async () => {
      const { page, close } = await open(full, { viewport });
      const sizesOfText = await page.$$eval('svg.chart', (charts) => charts.flatMap((chart) => {
        const box = chart.getBoundingClientRect();
        if (box.width === 0) return [];
        const scale = box.width / chart.viewBox.baseVal.width;
        return Array.from(chart.querySelectorAll('text'), (text) => parseFloat(getComputedStyle(text).fontSize) * scale);
      }));
      assert.ok(sizesOfText.length > 50);
      assert.ok(Math.min(...sizesOfText) >= 9, `${Math.min(...sizesOfText)} px`);
      await close();
    });
  }

  it('says the answer first', async () => {
    for (const [name, viewport] of Object.entries(sizes)) {
      const { page, close } = await open(formats, { viewport });
      const lead = page.locator('.lead').last();
      const box = await lead.boundingBox();
      assert.match(await lead.innerText(), /^Simulated reader \w+: (Use|No difference is shown between) .*%/);
      assert.ok(box.y + box.height < viewport.height, `${name}: the whole answer is on the first screen`);
      await close();
    }
    const { page, close } = await open(full);
    const answer = page.locator('.answer', { hasText: 'Simulated reader typical' });
    assert.match(await answer.innerText(), /\d+% → \d+%[\s\S]*\+\d+ points[\s\S]*\[\d+, \d+\][\s\S]*(more succeed|no clear difference)[\s\S]*tokens per episode/);
    await close();
  });

  it('shows paired intervals, and the same moment under both conditions with the changed arguments marked', async () => {
    for (const [name, viewport] of Object.entries(sizes)) {
      for (const file of name === 'wide' ? [...small, full, formats] : [small[1], small[2]]) {
        const { page, close } = await open(file, { viewport });
        const intervals = page.locator('.line .range:visible');
        assert.ok((await intervals.count()) > 0, `${name}: an interval is seen without a click`);
        const first = await intervals.first().boundingBox();
        if (viewport.width >= 1280) assert.ok(first.y + first.height < viewport.height, `${name}: the first one on the first screen, not at ${first.y}`);
        // A mark is where its number says: to the right of zero if more succeed, hollow unless the interval excludes zero.
        const marks = await page.$$eval('.ranked tbody tr', (rows) => rows.map((row) => {
          const [, lower, upper] = row.cells[3].textContent.match(/\[(-?[\d.]+), (-?[\d.]+)\]/) ?? [];
          const place = (part) => row.querySelector(part)?.getBoundingClientRect();
          const [zero, range, dot] = [place('.zero'), place('.range'), place('.dot')];
          return lower === undefined || !range || range.width === 0 ? null : {
            lower: Number(lower), upper: Number(upper), hollow: row.querySelector('.dot').matches('.hollow'),
            left: range.left - zero.left, right: range.right - zero.left, within: dot.left + dot.width / 2 - range.left, width: range.width,
          };
        }).filter(Boolean));
        for (const mark of marks) {
          assert.ok(mark.hollow || mark.lower > 0 || mark.upper < 0, JSON.stringify(mark));
          if (Math.abs(mark.lower) > 1) assert.equal(Math.sign(mark.left), Math.sign(mark.lower), JSON.stringify(mark));
          assert.ok(mark.within > -2 && mark.within < mark.width + 2, JSON.stringify(mark));
        }
        const moment = page.locator('#moment ~ .pair').first();
        const [left, right] = [moment.locator('.transcript').first(), moment.locator('.transcript').last()];
        assert.equal(await moment.locator('.transcript').count(), 2);
        assert.match(await left.innerText(), file === formats ? /^all \S+ \w+/ : /^(no guardrails|all \S+) \w+/, 'a format beside a format');
        assert.match(await right.innerText(), /→ \w+ \d+ tokens sent, \d+ tokens back/);
        assert.ok((await right.locator('.repair mark').count()) > 0, 'a changed argument is marked');
        const call = async (side) => (await side.locator('li').first().locator('pre').first().innerText());
        assert.equal(await call(left), await call(right), 'both begin with the same call');
        await page.getByRole('link', { name: /^Complete transcripts/ }).click();
        await page.locator('.aligned').waitFor();
        assert.equal(await page.locator('fieldset input:checked').count(), await page.locator('fieldset input').count(), 'all conditions are shown');
        assert.ok((await overflow(page)) <= 0);
        await close();
      }
    }
  });

  it('has its parts in reach, from wherever one is', async () => {
    for (const viewport of [sizes.narrow, sizes.desktop]) {
      const { page, close } = await open(formats, { viewport });
      await page.evaluate(() => scrollTo(0, 3000));
      const parts = page.locator('details.parts');
      await parts.locator('summary').click();
      await parts.getByRole('link', { name: 'Error texts' }).click();
      assert.equal(await parts.getAttribute('open'), null, 'the list makes way');
      const [heading, head] = [await page.locator('#errors').boundingBox(), await page.locator('header.top').boundingBox()];
      assert.ok(heading.y >= head.y + head.height && heading.y < viewport.height, JSON.stringify([heading, head]));
      assert.ok((await overflow(page)) <= 0);
      await close();
    }
  });

  it('sorts a table by its heads, and goes back to the order of the plan', async () => {
    const { page, close } = await open(full);
    const plan = await cells(page, 'rates', 3);
    assert.ok(plan.includes(''), 'a number is unknown');
    const head = page.locator('#rates th', { hasText: 'points vs reference' });
    await head.getByRole('button').click();
    assert.equal(await head.getAttribute('aria-sort'), 'descending');
    const numbers = (values) => values.filter((value) => value !== '').map(Number);
    const down = await cells(page, 'rates', 3);
    assert.deepEqual(numbers(down), numbers(plan).sort((a, b) => b - a));
    assert.deepEqual(down.slice(-3), ['', '', ''], 'unknown comes last');
    await head.getByRole('button').press('Enter');
    assert.equal(await head.getAttribute('aria-sort'), 'ascending');
    const up = await cells(page, 'rates', 3);
    assert.deepEqual(numbers(up), numbers(plan).sort((a, b) => a - b));
    assert.deepEqual(up.slice(-3), ['', '', '']);
    await head.getByRole('button').press('Space');
    assert.equal(await head.getAttribute('aria-sort'), null);
    assert.deepEqual(await cells(page, 'rates', 3), plan);
    await close();
  });

  it('finds rows by words, by agent and by how they ended', async () => {
    const { page, close } = await open(full);
    const all = await openRows(page).count();
    assert.equal(all, 45);
    const tools = page.locator('[data-tools="rows"]');
    const search = tools.getByRole('searchbox');
    await search.fill('BAD-date typical');
    assert.equal(await openRows(page).count(), 1);
    assert.equal(await tools.getByRole('status').innerText(), '1 of 45 shown');
    await search.press('Escape');
    assert.equal(await openRows(page).count(), all);
    await tools.getByLabel('Agent').selectOption({ label: 'scripted:perfect' });
    assert.equal(await openRows(page).count(), 15);
    await tools.getByLabel('ended differently').check();
    const flips = await openRows(page).count();
    assert.ok(flips > 0 && flips < 15);
    await tools.getByLabel('ended differently').uncheck();
    await tools.getByLabel('Agent').selectOption({ label: 'all' });
    await tools.getByLabel('Order').selectOption({ label: 'most billed tokens' });
    const tokens = await page.$$eval('#rows > details', (rows) => rows.map((row) => Number(row.dataset.tokens)));
    assert.deepEqual(tokens, [...tokens].sort((a, b) => b - a));
    await tools.getByLabel('Order').selectOption({ label: 'most lost' });
    const gains = await page.$$eval('#rows > details', (rows) => rows.map((row) => Number(row.dataset.gain)));
    assert.deepEqual(gains, [...gains].sort((a, b) => a - b));
    await page.locator('h1').click();
    await page.keyboard.press('/');
    assert.ok(await search.evaluate((search) => document.activeElement === search), 'the search that names the key');
    await close();
  });

  it('finds settings by words', async () => {
    const { page, close } = await open(full);
    const tools = page.locator('[data-tools="rates"]');
    await tools.getByRole('searchbox').fill('perfect strict+healing');
    const found = await page.locator('#rates tbody tr:visible').allInnerTexts();
    assert.ok(found.length > 0 && found.length < 48);
    assert.ok(found.every((row) => row.includes('perfect') && row.includes('strict+healing')));
    assert.equal(await tools.getByRole('status').innerText(), `${found.length} of 48 shown`);
    await close();
  });

  it('can be used with forced colors and without motion', async () => {
    const { page, close } = await open(full, { forcedColors: 'active', reducedMotion: 'reduce', viewport: sizes.narrow });
    await flip(page).locator(':scope > summary').press('Enter');
    await flip(page).locator('mark').first().waitFor();
    assert.ok((await overflow(page)) <= 0);
    await close();
  });

  it('opens a pair by mouse and by keyboard, with what was told and what changed', async () => {
    const { page, close } = await open(full);
    for (const open of [(summary) => summary.click(), (summary) => summary.press('Enter')]) {
      const row = flip(page);
      await open(row.locator(':scope > summary'));
      const columns = row.locator('.aligned thead th');
      await columns.last().waitFor();
      assert.equal(await columns.count(), 2);
      const [left, right] = [await columns.first().boundingBox(), await columns.last().boundingBox()];
      assert.ok(left.x + left.width <= right.x && left.y === right.y, 'side by side');
      const told = row.locator('.aligned td:nth-child(2) pre.failed').first();
      const next = row.locator('.aligned td:nth-child(2) .repair').first();
      assert.match(await told.innerText(), /validation_error|tool_error/);
      assert.ok((await next.boundingBox()).y > (await told.boundingBox()).y);
      assert.ok((await next.locator('mark').count()) > 0, 'the changed arguments are marked');
      assert.match(await next.innerText(), /changes|adds|drops/, 'and told in words');
      await open(row.locator(':scope > summary'));
      assert.ok(!(await columns.first().isVisible()));
    }
    await close();
  });

  it('is dark when it is asked to be, and remembers that', async () => {
    const paper = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const ink = (page) => page.locator('.chart:visible text').first().evaluate((text) => getComputedStyle(text).fill);
    const { page, close } = await open(full, { colorScheme: 'light' });
    const light = [await paper(page), await ink(page)];
    const button = page.getByRole('button', { name: /^Theme/ });
    await button.click();
    assert.deepEqual([await paper(page), await ink(page)], light);
    await button.click();
    assert.match(await button.innerText(), /dark/);
    const dark = [await paper(page), await ink(page)];
    assert.ok(dark[0] !== light[0] && dark[1] !== light[1], 'paper and charts change');
    await page.reload();
    assert.deepEqual([await paper(page), await ink(page)], dark);
    await page.emulateMedia({ media: 'print' });
    assert.equal(await paper(page), 'rgb(255, 255, 255)', 'paper is white whatever the theme');
    await close();
    const other = await open(full, { colorScheme: 'dark' });
    assert.deepEqual([await paper(other.page), await ink(other.page)], dark, 'without the button too');
    await other.close();
  });

  it('prints without its tools', async () => {
    const { page, close } = await open(full);
    await page.emulateMedia({ media: 'print' });
    assert.equal(await page.locator('.tools:visible, button#theme:visible').count(), 0);
    const printed = (await page.pdf()).length;
    assert.ok(printed > 10_000 && printed < MOST_BYTES, `${printed} bytes on paper`);
    await flip(page).evaluate((row) => { row.open = true; });
    await flip(page).locator('.aligned').waitFor();
    const withTranscript = (await page.pdf()).length;
    assert.ok(withTranscript > printed && withTranscript < MOST_BYTES, `${withTranscript} bytes with a transcript`);
    await flip(page).evaluate((row) => { row.open = false; });
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    assert.equal(await page.locator('details:not([open]):not(.rows details)').count(), 0, 'the numbers are printed');
    assert.equal(await page.locator('.rows > details[open]').count(), 0, 'transcripts only where they were open');
    await page.evaluate(() => dispatchEvent(new Event('afterprint')));
    assert.equal(await page.locator('details[open]:not(.map)').count(), 0);
    await close();
  });

  it('fits on paper, with agents named in one piece', async () => {
    const a4 = { width: 718, height: 1000 };
    const { page, close } = await open(formats, { viewport: a4 });
    await page.$$eval('details', (all) => all.forEach((details) => { details.open = true; }));
    await page.emulateMedia({ media: 'print' });
    assert.ok((await overflow(page)) <= 0, `${await overflow(page)} px are cut off`);
    const lines = await page.$$eval('#rates th[scope="row"]', (names) => names.map((name) => {
      const range = document.createRange();
      range.selectNodeContents(name);
      return range.getClientRects().length;
    }));
    assert.equal(Math.max(...lines), 1);
    await close();
  });

  it('has all numbers without a script, and no button that does nothing', async () => {
    const { page, close } = await open(full, { javaScriptEnabled: false });
    const other = await open(full);
    const numbers = (page) => page.locator('#rates tbody tr').allInnerTexts();
    assert.equal((await numbers(page)).length, 48);
    assert.deepEqual(await numbers(page), await numbers(other.page));
    await other.close();
    assert.equal(await page.locator('button:enabled:visible').count(), 0);
    assert.equal(await page.locator('input:visible, select:visible').count(), 0);
    await flip(page).locator(':scope > summary').click();
    assert.ok(await flip(page).locator('.transcript').first().isVisible());
    await close();
  });
});

describe('axe', () => {
  for (const [name, viewport] of Object.entries(sizes)) {
    for (const colorScheme of ['light', 'dark']) {
      it(`finds nothing, ${name} and ${colorScheme}`, async () => {
        for (const file of small) {
          // The page lets no script run but its own.
          const { page, close } = await open(file, { viewport, colorScheme, bypassCSP: true });
          await page.$$eval('main details:not(#rows > details)', (all) => all.forEach((details) => { details.open = true; }));
          await flip(page).locator(':scope > summary').click();
          await flip(page).locator('.aligned').waitFor();
          assert.deepEqual(await findings(page, axe, colorScheme), []);
          await close();
        }
      });
    }
  }
});

describe('hostile words', () => {
  const words = '<script>alert(1)</script> ]]> </style> "><img src=x onerror=alert(2)> &lt; \u001b[31mred \u202eevil\u2066 end';
  const plain = '<script>alert(1)</script> ]]> </style> "><img src=x onerror=alert(2)> &lt; \\u{1b}[31mred \\u{202e}evil\\u{2066} end';

  it('are shown as text', async () => {
    const line = 'lorem ipsum '.repeat(90_000);
    const scenario = {
      id: 'demo/hostile', title: words, description: `${words} ${line}`,
      task: { prompt: `${words} ${line}`, max_calls: 4 },
      tools: { notes: { description: words, actions: { create: {
        description: words,
        input: { properties: { text: { type: 'string' } }, required: ['text'] },
        handler: { fail: { code: 'HOSTILE', message: `${words} ${line}` } },
      } } } },
      world: { notes: { rows: [{ id: '1' }] } },
      expect: [{ count: { in: 'notes', equals: 2 } }],
      script: [{ call: { tool: 'notes', action: 'create', arguments: { text: `${words} ${line}` } } }],
    };
    const template = write('hostile.jinja', `${words}\n{{ message }}`);
    const file = made('told', write('hostile.json', JSON.stringify(scenario)), ...readers, '--format', `fusion-xml,template:${template}`, '--trials', '1');
    assert.ok(statSync(file).size < MOST_BYTES);
    for (const viewport of Object.values(sizes)) {
      const { page, close } = await open(file, { viewport });
      await page.locator('#rows > details > summary').first().click();
      await page.locator('.aligned').waitFor();
      const inside = page.locator('#rows .inside').first();
      const shown = (await inside.innerText()).replace(/\s+/g, ' ');
      assert.ok(shown.split(plain).length > 4, shown.slice(0, 2000));
      assert.match(shown, /[\d,]+ more characters|more$|characters more/m);
      assert.equal(await page.locator('img, #rows script, #rows style').count(), 0);
      assert.ok(!/[\u001b\u202e\u2066]/.test(await page.content()));
      assert.ok((await overflow(page)) <= 0, 'a line of a mebibyte does not make it wider');
      await close();
    }
  });
});

const order = (index) => JSON.stringify({
  id: `shop/order-of-a-customer-${String(index).padStart(4, '0')}`,
  title: 'An order',
  task: { prompt: `Create order ${index}.`, max_calls: 4 },
  tools: { orders: { description: 'Orders.', actions: { create: {
    description: 'Create an order.',
    input: { properties: { item: { type: 'string' }, count: { type: 'integer', minimum: 1 } }, required: ['item', 'count'] },
    handler: { insert: 'orders' },
  } } } },
  world: { orders: { rows: [{ id: '1', item: 'lamp', count: 1 }] } },
  expect: [{ count: { in: 'orders', equals: 2 } }],
  script: [{ call: { tool: 'orders', action: 'create', arguments: { item: 'desk', count: 2 } }, mistakes: ['missing'] }],
});

describe('a run of 10,000 episodes', () => {
  it('with many scenarios and agents stays small, and says what it left out', async () => {
    const file = made('many', 'claims', 'domain-errors', 'fields', 'hostile', 'published', 'quickstart', 'strictness', '--agent', 'scripted', '--format', 'fusion-xml', '--trials', '11');
    const { scenarios, agents, episodes } = await plan(file);
    assert.equal(episodes, scenarios * agents * 2 * 11);
    assert.ok(episodes > 10_000);
    await small(file, scenarios * agents, new RegExp(`Of ${episodes.toLocaleString('en-US')} episodes [\\d,]+ are shown`));
  });

  it('with thousands of scenarios too', async () => {
    for (let index = 0; index < 5_000; index += 1) write(`thousands/${index}.json`, order(index));
    const file = made('scenarios', 'thousands', '--agent', 'scripted:typical', '--format', 'fusion-xml', '--trials', '1');
    await small(file, 2_000, /3,000 rows after the first 2,000 left out/);
  });

  it('with many settings and agents too', async () => {
    const profiles = readFileSync(new URL('../../agents/reader/profiles/typical.toml', import.meta.url), 'utf8');
    const agents = Array.from({ length: 27 }, (_, index) => {
      const profile = `agents/agent-with-a-long-name-${index}.toml`;
      write(profile, profiles);
      return `scripted:${profile}`;
    });
    const file = made('settings', write('one/one.json', order(0)), '--agent', agents.join(','), '--guardrails', 'full', '--format', 'all', '--trials', '5');
    await small(file, 27, /row[s]? after the first 1,000 left out/);
  });

  /** The numbers of scenarios, agents and episodes that the page states. */
  async function plan(file) {
    const { page, close } = await open(file);
    const text = await page.locator('body').innerText();
    await close();
    const [, ...numbers] = text.match(/([\d,]+) scenarios · (\d+) agents · \d+ trials · ([\d,]+) episodes/);
    const [scenarios, agents, episodes] = numbers.map((number) => Number(number.replaceAll(',', '')));
    return { scenarios, agents, episodes };
  }

  async function small(file, rows, leftOut) {
    assert.ok(statSync(file).size < MOST_BYTES, `${statSync(file).size} bytes`);
    const { page, close } = await open(file);
    assert.equal(await page.locator('#rows > details').count(), rows);
    assert.match((await page.locator('main').innerText()).replace(/\s+/g, ' '), leftOut);
    await close();
  }
});

describe('the page of a comparison', () => {
  it('opens from disk, sorts and finds', async () => {
    const template = write('errors.jinja', '{{ message }}{% for issue in issues %} {{ issue.path }}: {{ issue.problem }} {{ issue.correction }}{% endfor %}');
    const play = (name) => healbench('run', 'quickstart', '--agent', 'scripted:typical,scripted:perfect', '--guardrails', 'all', '--format', `template:${template}`, '--trials', '4', '--quiet', '--out', name);
    play('base');
    write('errors.jinja', 'something is wrong');
    play('candidate');
    healbench('compare', 'base', 'candidate', '--output', 'html=compared.html');
    const { page, close } = await open(`${folder}/compared.html`);
    assert.match(await page.locator('h2', { hasText: 'lost' }).innerText(), /^\d+ successes lost, \d+ gained$/);
    const flips = await page.locator('#flips tbody tr:visible').count();
    assert.ok(flips > 10);
    const tools = page.locator('[data-tools="flips"]');
    await tools.getByRole('searchbox').fill('bad-date typical');
    const found = await page.locator('#flips tbody tr:visible').count();
    assert.ok(found > 0 && found < flips);
    assert.equal(await tools.getByRole('status').innerText(), `${found} of ${flips} shown`);
    await tools.getByRole('searchbox').fill('');
    const success = page.locator('table', { has: page.locator('caption', { hasText: /^success/ }) });
    await success.getByRole('button', { name: 'difference' }).click();
    const differences = await success.locator('tbody tr').evaluateAll((rows) => rows.map((row) => Number(row.cells[4].dataset.v)));
    assert.ok(differences.length === 2 && differences[0] >= differences[1] && differences[0] < 0);
    assert.ok((await success.locator('td.bad').count()) > 0, 'worse is marked');
    await close();
  });
});
