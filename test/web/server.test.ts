// The view of the server: what it is at, and commands for its models.

import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { EngineError } from '../../src/index.ts';
import { hold, startOnDemand } from '../server/catalog/demand-source.ts';
import { start } from '../server/harness.ts';
import { startImages } from '../server/images/image-harness.ts';
import { useWebPage } from './web-page.ts';

const web = useWebPage();

/** The machine may be busy. */
const PATIENCE = { timeout: 20_000 };

/** Opens the view with a clock that the test moves. */
async function openView(url: string): Promise<Page> {
  const page = await web.open('about:blank');
  await page.clock.install();
  await page.goto(`${url}/#/server`);
  return page;
}

web.test(
  'the view shows memory, requests and tokens per second, and asks only while it is seen',
  async () => {
    const { url, model } = await start();
    const metrics = await model.metrics();
    let generatedTokens = 0;
    model.metrics = async () => ({
      ...metrics,
      running: 3,
      waiting: 2,
      generatedTokens: (generatedTokens += 90),
    });
    const page = await openView(url);
    await page.getByText('4.1 kB of 4.1 kB').waitFor();
    expect(await page.getByRole('meter').getAttribute('value')).toBe(String(1024 + 2048 + 1024));
    expect(await page.locator('.counts').innerText()).toMatch(/Running\s+3\s+Waiting\s+2\s+Open replies\s+0/);
    const chart = page.getByRole('img', { name: 'tokens per second' });
    await page.clock.runFor(2100);
    await expect
      .poll(() => chart.getAttribute('aria-label'), PATIENCE)
      .toMatch(/^(?!0\.0)[\d.]+ tokens per second, at most (?!0\.0)/);
    expect(await chart.locator('polyline').getAttribute('points')).toMatch(/^300\.0,0\.0$/);

    let asked = 0;
    page.on('request', () => (asked += 1));
    await setHidden(page, true);
    await page.clock.runFor(10_000);
    expect(asked).toBe(0);
    await setHidden(page, false);
    await expect.poll(() => asked, PATIENCE).toBe(2);
  },
);

const setHidden = (page: Page, hidden: boolean) =>
  page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { value, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);

web.test('requests to image models are counted, too', async () => {
  const { url, generate } = await startImages();
  for (const prompt of ['hang', 'waits']) generate({ prompt }).catch(() => {});
  const page = await openView(url);
  await expect
    .poll(() => page.locator('.counts').innerText(), PATIENCE)
    .toMatch(/Running\s+1\s+Waiting\s+1\s+Open replies\s+2/);
});

web.test('problems are named with their remedy: a model that failed, a server that is gone', async () => {
  const { server, url } = await start();
  const failed = server.addModel({ names: ['broken'] });
  failed.failed('a file of it is cut short; download it again');
  const page = await openView(url);
  await page
    .getByRole('alert')
    .filter({ hasText: 'broken did not open: a file of it is cut short' })
    .waitFor();
  web.allow(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/);
  await server.close();
  await page.clock.runFor(2100);
  await page.getByRole('alert').filter({ hasText: 'check that it still runs' }).waitFor();
});

web.test('models are loaded, unloaded, downloaded and removed, and what is refused is told', async () => {
  const { url, source } = await startOnDemand({ pinned: ['vectors'] });
  const page = await openView(url);
  const item = (name: string) => page.getByRole('listitem', { name, exact: true });
  const press = (name: string, button: string) => item(name).getByRole('button', { name: button }).click();
  await item('other').getByText('text · 1 kB on disk').waitFor();
  await item('vectors').getByText('pinned').waitFor();

  const opened = hold(source, 'other');
  await press('other', 'Load');
  await page.clock.runFor(2100);
  expect(await item('other').getByRole('progressbar').getAttribute('value')).toBe('0.25');
  opened();
  await item('other').getByText('4.1 kB on the device').waitFor();
  await press('other', 'Unload');
  await item('other').getByText('unloaded', { exact: true }).waitFor();

  web.allow(/ (4|5)\d\d /);
  source.failures.set('scenes', new EngineError('bad_checkpoint', 'a file ends early; fetch it again'));
  await press('scenes', 'Load');
  await item('scenes').getByText('could not be opened: a file ends early; fetch it again').waitFor();
  await page.getByRole('alert').filter({ hasText: 'scenes did not open' }).waitFor();

  const end = hold(source, 'owner/three');
  source.failures.set('owner/three', new EngineError('model_not_found', 'the hub has no owner/three'));
  await page.getByLabel('Download a model of the hub').fill('owner/three');
  await page.getByRole('button', { name: 'Download' }).click();
  expect(await item('owner/three').getByRole('progressbar').getAttribute('value')).toBe('0.25');
  end();
  await page.getByRole('alert').filter({ hasText: 'the hub has no owner/three' }).waitFor();

  const question = page.getByRole('dialog').filter({ hasText: 'Remove owner/chat' });
  await press('owner/chat', 'Remove');
  await question.getByRole('button', { name: 'Cancel' }).click();
  await press('owner/chat', 'Remove');
  await question.getByRole('button', { name: 'Remove' }).click();
  await item('owner/chat').waitFor({ state: 'detached' });
  expect(source.happened).toEqual([
    ...['open other', 'close other', 'open scenes', 'fetch owner/three', 'remove owner/chat'],
  ]);
});

web.test('a server whose models are fixed refuses once, and then only states are shown', async () => {
  const { url } = await start();
  web.allow(/ 400 /);
  const page = await openView(url);
  await page.getByRole('button', { name: 'Unload' }).click();
  await page.getByText('start it with --models-dir').waitFor();
  expect(await page.getByRole('button', { name: /Unload|Download/ }).count()).toBe(0);
  await page.getByText('loaded', { exact: true }).waitFor();
  await page.clock.runFor(2100);
  const chart = page.getByRole('img', { name: '0.0 tokens per second, at most 0.0 in the last' });
  await expect.poll(() => chart.locator('polyline').getAttribute('points'), PATIENCE).toBe('300.0,80.0');
});
