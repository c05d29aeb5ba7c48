// Pictures of pages for people to look at, in both widths and themes and on paper. Called by `just screenshots`.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { address, folder, launch, page as made, sizes } from './browser.mjs';

const target = process.argv[2];
const files = {
  full: made('full', 'quickstart', '--guardrails', 'full', '--format', 'fusion-xml', '--trials', '2'),
  formats: made('formats', 'quickstart', '--format', 'all', '--trials', '1'),
};
const browser = await launch();
for (const [name, file] of Object.entries(files)) {
  for (const [width, viewport] of Object.entries(sizes)) {
    for (const colorScheme of ['light', 'dark']) {
      const page = await browser.newPage({ viewport, colorScheme });
      await page.goto(address(file));
      const take = (part) => page.screenshot({ path: join(target, `${name}-${width}-${colorScheme}-${part}.png`) });
      await take('top');
      for (const part of ['matrix', 'effects', 'fixed', 'calls', 'scenarios']) {
        const head = page.locator(`#${part}`);
        if ((await head.count()) === 0) continue;
        await head.evaluate((head) => head.scrollIntoView());
        await take(part);
      }
      const row = page.locator('#rows > details[data-flips="1"]').first();
      await row.evaluate((row) => { row.open = true; row.scrollIntoView(); });
      await take('pair');
      await page.close();
    }
  }
  const page = await browser.newPage({ viewport: { width: 718, height: 1000 } });
  await page.goto(address(file));
  await page.emulateMedia({ media: 'print' });
  await page.screenshot({ path: join(target, `${name}-paper.png`), fullPage: true });
  await page.close();
}
await browser.close();
rmSync(folder, { recursive: true, force: true });
