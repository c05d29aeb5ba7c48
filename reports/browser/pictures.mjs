// The pictures of the README: a real run, its page, and one opened pair. Called by `just pictures`.

import { join, resolve } from 'node:path';
import { address, launch, page as made } from './browser.mjs';

const target = resolve(process.argv[2] ?? 'docs/pictures');
const file = made('quickstart', 'quickstart', '--guardrails', 'full', '--format', 'fusion-xml');
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1120, height: 760 } });
await page.goto(address(file));
await page.screenshot({ path: join(target, 'report.png') });

const effects = page.locator('figure', { has: page.locator('figcaption:text-is("scripted:typical fusion-xml")') });
await effects.locator('.plots').screenshot({ path: join(target, 'effects.png') });

await page.setViewportSize({ width: 1120, height: 1200 });
const row = page.locator('#rows > details', { hasText: 'quickstart/bad-date' }).nth(1);
await row.locator(':scope > summary').click();
await row.screenshot({ path: join(target, 'transcripts.png') });
await browser.close();
