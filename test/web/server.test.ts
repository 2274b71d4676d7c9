// The view of the server: what it is at, and commands for its models, on routes of a test where the server's own need models on disk.

import type { H3Event } from 'h3';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { RequestError } from '../../src/server/http/errors.ts';
import type { RouteTable } from '../../src/server/service/route.ts';
import { start } from '../server/harness.ts';
import { useWebPage } from './web-page.ts';

const web = useWebPage();

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
      .poll(() => chart.getAttribute('aria-label'))
      .toMatch(/^(?!0\.0)[\d.]+ tokens per second, at most (?!0\.0)/);
    expect(await chart.locator('polyline').getAttribute('points')).toMatch(/^300\.0,0\.0$/);

    let asked = 0;
    page.on('request', () => (asked += 1));
    await setHidden(page, true);
    await page.clock.runFor(10_000);
    expect(asked).toBe(0);
    await setHidden(page, false);
    await expect.poll(() => asked).toBe(2);
  },
);

const setHidden = (page: Page, hidden: boolean) =>
  page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { value, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);

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

const COMMAND = { group: 'Models', summary: 'A command of the test.' } as const;

web.test('models are loaded, unloaded, downloaded and removed, and what is refused is told', async () => {
  const states = new Map([
    ['one', 'unloaded'],
    ['two', 'loaded'],
  ]);
  const sent: string[] = [];
  let end = (): void => {};
  const take = async (name: string, { req }: H3Event): Promise<string> => {
    const { model } = (await req.json()) as { model: string };
    sent.push(`${name} ${model}`);
    return model;
  };
  const added: RouteTable = {
    '/models/load': {
      POST: {
        ...COMMAND,
        handle: async (_, event) => ({ status: states.set(await take('load', event), 'loaded').size }),
      },
    },
    '/models/unload': {
      POST: {
        ...COMMAND,
        async handle(_, event) {
          await take('unload', event);
          throw new RequestError('busy', 'two is being opened; unload it once it is open');
        },
      },
    },
    '/models': {
      POST: {
        ...COMMAND,
        handle: async (_, event) => ({ status: states.set(await take('fetch', event), 'downloading').size }),
      },
      DELETE: {
        ...COMMAND,
        handle(_, { url }) {
          const name = url.searchParams.get('model')!;
          sent.push(`delete ${name}`);
          return { deleted: states.delete(name) };
        },
      },
    },
    '/models/sse': {
      GET: {
        ...COMMAND,
        async handle() {
          await new Promise<void>((resolve) => (end = resolve));
          const status = {
            value: 'unloaded',
            failed: true,
            error: 'the hub has no owner/three; check the name',
          };
          return `data: ${JSON.stringify({ model: 'owner/three', status, removed: true })}\n\n`;
        },
      },
    },
  };
  const { url } = await start({}, { added });
  const page = await openView('about:blank');
  await page.route('**/v1/models', (route) =>
    route.fulfill({
      json: {
        data: [...states].map(([id, value]) => ({
          ...{ id, parent: null, kind: 'text', pinned: id === 'two', size: 1_500_000, memory: null },
          status: { value, ...(value === 'downloading' && { progress: 0.25 }) },
        })),
      },
    }),
  );
  await page.goto(`${url}/#/server`);
  const item = (name: string) => page.getByRole('listitem', { name, exact: true });
  await item('one').getByText('text · 1.5 MB on disk').waitFor();
  await item('two').getByText('pinned').waitFor();
  await item('one').getByRole('button', { name: 'Load' }).click();
  await item('one').getByText('loaded', { exact: true }).waitFor();

  web.allow(/ 4\d\d /);
  await item('two').getByRole('button', { name: 'Unload' }).click();
  await item('two').getByText('unload it once it is open').waitFor();

  await page.getByLabel('Download a model of the hub').fill('owner/three');
  await page.getByRole('button', { name: 'Download' }).click();
  expect(await item('owner/three').getByRole('progressbar').getAttribute('value')).toBe('0.25');
  states.delete('owner/three');
  end();
  await page.getByRole('alert').filter({ hasText: 'the hub has no owner/three' }).waitFor();

  states.set('one', 'unloaded');
  await page.clock.runFor(2100);
  await item('one').getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await item('one').getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await item('one').waitFor({ state: 'detached' });
  expect(sent).toEqual(['load one', 'unload two', 'fetch owner/three', 'delete one']);
});

web.test('a server whose models are fixed refuses once, and then only states are shown', async () => {
  const refusal = 'models are given with --model-path here; start the server with --models-dir';
  const handle = (): never => {
    throw new RequestError('unsupported', refusal);
  };
  const { url } = await start({}, { added: { '/models/unload': { POST: { ...COMMAND, handle } } } });
  web.allow(/ 400 /);
  const page = await openView('about:blank');
  await page.route('**/v1/models', (route) =>
    route.fulfill({ json: { data: [{ id: 'fake-chat', parent: null, status: { value: 'loaded' } }] } }),
  );
  await page.goto(`${url}/#/server`);
  await page.getByRole('button', { name: 'Unload' }).click();
  await page.getByText(refusal).waitFor();
  expect(await page.getByRole('button', { name: 'Unload' }).count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Download' }).count()).toBe(0);
  await page.getByText('loaded', { exact: true }).waitFor();
});
