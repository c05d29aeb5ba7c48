// The pictures of the README and the documentation, in both themes: the moment after an error, and the effects of guardrails. Called by `just pictures`.

import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { address, folder, launch, page as made } from './browser.mjs';

const target = resolve(process.argv[2] ?? 'docs/pictures');
const full = made('full', 'quickstart', '--agent', 'scripted:blind,scripted:typical,scripted:perfect', '--guardrails', 'full', '--format', 'fusion-xml');
const browser = await launch();
for (const [colorScheme, suffix] of [['light', ''], ['dark', '-dark']]) {
  const page = await browser.newPage({ viewport: { width: 1040, height: 860 }, colorScheme });
  const path = (name) => join(target, `${name}${suffix}.png`);
  await page.goto(address(full));
  await page.locator('#moment ~ .pair').first().screenshot({ path: path('transcripts') });
  const effects = page.locator('figure', { has: page.locator('figcaption:text-is("scripted:typical fusion-xml")') });
  await effects.locator('.plots').screenshot({ path: path('effects') });
  await page.close();
}
await browser.close();
rmSync(folder, { recursive: true, force: true });
