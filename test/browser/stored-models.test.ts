// Models of a hub in a real browser's storage: opened again without the hub, packed weights, a quota that is too small.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeEach, expect, onTestFinished } from 'vitest';
import { root } from '../../scripts/setup/packages.mjs';
import { goldenModel } from '../engine/fixture.ts';
import { ID, startHub, type MockHub } from '../files/hub/mock-hub.ts';
import { usePages } from './chromium.ts';

const FILES = filesIn(root, 'models', 'svc-chat-mini');
const LORAS = join(root, 'test/golden/lora');
const WEIGHTS_BYTES = FILES.get('model.safetensors')!.length;

const pages = usePages({ persistent: true, whole: true });

let hub: MockHub;
beforeEach(async () => {
  hub = await startHub(FILES);
  onTestFinished(() => hub.close());
});

function filesIn(...path: string[]): Map<string, Buffer> {
  const folder = join(...path);
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
}

const encoded = (files: ReadonlyMap<string, Buffer>): [string, string][] =>
  [...files].map(([name, bytes]) => [name, bytes.toString('base64')]);

interface LoraCase {
  name: string;
  greedy: { prompt_ids: number[]; tokens: number[] };
}

interface Outcome {
  text: string;
  notes: string[];
  downloaded: number;
  /** Files in the page's storage, by paths. */
  files: string[];
}

/** Opens the model by its id in int8, and lets it answer under a grammar, which is compiled in a worker that reads the stored tokenizer itself. */
const openAndAsk = (page: Page): Promise<Outcome> =>
  page.evaluate(
    async ({ id, endpoint }) => {
      const notes: string[] = [];
      let downloaded = 0;
      const options = { model: id, hub: { endpoint, token: 'hf_page' }, quantization: 'int8' as const };
      const model = await svc.openTextModel(options, (event) => {
        if (event.type === 'note') notes.push(event.message);
        if (event.type === 'download') downloaded = event.bytes;
      });
      let text = '';
      const request = {
        prompt: { messages: [{ role: 'user' as const, content: 'Hello!' }] },
        temperature: 0,
        maxTokens: 6,
        constraint: { type: 'regex' as const, pattern: '[a-z ]{1,40}' },
      };
      for await (const event of model.generate(request)) if (event.type === 'delta') text += event.text;
      await model.close();
      const files: string[] = [];
      const list = async (folder: FileSystemDirectoryHandle, prefix: string): Promise<void> => {
        for await (const [name, entry] of folder.entries())
          if (entry.kind === 'file') files.push(`${prefix}${name}`);
          else await list(entry, `${prefix}${name}/`);
      };
      await list(await navigator.storage.getDirectory(), '');
      return { text, notes, downloaded, files };
    },
    { id: ID, endpoint: hub.url },
  );

/** Downloads and loads the model by its id, and gives up where its shaders would be compiled; returns the bytes that were downloaded. */
const download = (page: Page): Promise<number> =>
  page.evaluate(
    async ({ id, endpoint }) => {
      let downloaded = 0;
      const loaded = new AbortController();
      const opening = svc.openTextModel(
        { model: id, hub: { endpoint } },
        (event) => {
          if (event.type === 'download') downloaded = event.bytes;
          if (event.type === 'warmup') loaded.abort();
        },
        loaded.signal,
      );
      await opening.then(
        (model) => model.close(),
        ({ code, message }: { code: string; message: string }) => {
          if (code !== 'cancelled') throw new Error(message);
        },
      );
      return downloaded;
    },
    { id: ID, endpoint: hub.url },
  );

pages.test(
  'a model and its packed weights are opened again without the hub after the browser has been closed; a removed one is gone',
  async () => {
    const first = await openAndAsk(await pages.open());
    expect(first.downloaded).toBeGreaterThan(WEIGHTS_BYTES);
    expect(first.text).toMatch(/^[a-z ]+$/);
    expect(first.files.filter((path) => path.endsWith('.incomplete'))).toEqual([]);
    expect(first.files.filter((path) => path.includes('/packed/'))).toEqual([
      expect.stringMatching(/^svc-engine\/packed\/tiny-[0-9a-f]{8}-int8-[0-9a-f]{16}\.safetensors$/),
    ]);
    const weights = hub.seenOf('model.safetensors');
    expect(weights.map(({ authorization, origin }) => [origin, authorization])).toContainEqual([
      'store',
      undefined,
    ]);

    await hub.close();
    await pages.restart();
    pages.allow(/ERR_CONNECTION_REFUSED/);
    const page = await pages.open();
    const again = await openAndAsk(page);
    expect(again.text).toBe(first.text);
    expect(again.downloaded).toBe(0);
    expect(again.notes.join()).toContain('the hub cannot be reached');
    expect(again.files.sort()).toEqual(first.files.sort());

    const [listed, removed, left] = await page.evaluate(
      async (id) => [await svc.listModels(), await svc.removeModel(id), await svc.listModels()] as const,
      ID,
    );
    expect(listed).toMatchObject([{ id: ID, complete: true }]);
    expect(removed).toEqual({ id: ID, bytes: listed[0]!.bytes });
    expect(removed.bytes).toBeGreaterThan(WEIGHTS_BYTES);
    expect(left).toEqual([]);
  },
  180_000,
);

pages.test(
  'a quota that is too small is an error that keeps what arrived',
  async () => {
    const page = await pages.open();
    const session = await page.context().newCDPSession(page);
    const { origin } = new URL(pages.url);
    await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 4 * 2 ** 20 });
    const refused = await page.evaluate(
      async ({ id, endpoint }) =>
        svc.openTextModel({ model: id, hub: { endpoint } }).then(
          () => ({ code: 'opened', message: '' }),
          ({ code, message }: { code: string; message: string }) => ({ code, message }),
        ),
      { id: ID, endpoint: hub.url },
    );
    expect(refused.code).toBe('disk_full');
    expect(refused.message).toMatch(
      /^acme\/tiny needs \d\.\d MiB more in the browser's storage, where .* left for this page: /,
    );
    await session.send('Storage.overrideQuotaForOrigin', { origin });
    hub.seen.length = 0;
    expect(await download(page)).toBeGreaterThan(WEIGHTS_BYTES);
    expect(hub.seenOf('config.json')).toEqual([]);
  },
  180_000,
);

/** Bytes of the weights that have arrived in the storage of a page's origin. */
const arrived = (page: Page): Promise<number> =>
  page.evaluate(async () => {
    let folder = await navigator.storage.getDirectory();
    for (const name of ['svc-engine', 'models', 'acme--tiny', 'blobs'])
      folder = await folder.getDirectoryHandle(name, { create: true });
    for await (const [name, entry] of folder.entries())
      if (name.endsWith('.incomplete') && entry.kind === 'file') return (await entry.getFile()).size;
    return 0;
  });

pages.test(
  'a page goes on with the download of another page that is closed',
  async () => {
    hub.fault = (path, count) =>
      path === 'model.safetensors' && count === 0 ? { after: 3_000_000, finish: 'stall' } : undefined;
    const [first, second] = [await pages.open(), await pages.open()];
    await second.evaluate(async (id) => svc.removeModel(id), ID);
    await first.evaluate(
      ({ id, endpoint }) => {
        svc.openTextModel({ model: id, hub: { endpoint } }).catch(() => {});
      },
      { id: ID, endpoint: hub.url },
    );
    await expect.poll(() => arrived(second), { timeout: 30_000 }).toBeGreaterThan(1_000_000);
    const downloading = download(second);
    await first.close();
    expect(await downloading).toBeGreaterThan(0);
    const ranges = hub
      .seenOf('model.safetensors')
      .filter(({ origin, method }) => origin === 'store' && method === 'GET');
    const starts = ranges.map(({ range }) => Number(/^bytes=(\d+)-/.exec(range ?? 'bytes=0-')![1]));
    expect(starts.length).toBeGreaterThan(1);
    expect(starts.filter((start) => start < 1_000_000)).toHaveLength(1); // the beginning was fetched once
  },
  180_000,
);

pages.test(
  'adapters come from the hub and from files, and stored ones are kept while the model sleeps',
  async () => {
    const model = goldenModel('llama');
    onTestFinished(() => model.remove());
    hub.revisions.set('main', { commit: 'lora', files: filesIn(LORAS, 'llama-all') });
    const { cases } = JSON.parse(readFileSync(`${LORAS}.json`, 'utf8')) as { cases: LoraCase[] };
    const [all, some] = ['llama-all.stored', 'llama-some.stored'].map(
      (name) => cases.find((one) => one.name === name)!.greedy,
    );
    const page = await pages.open();
    const outcome = await page.evaluate(
      async ({ id, endpoint, all, some, files, adapter }) => {
        const made = (encoded: [string, string][]): File[] =>
          encoded.map(
            ([name, text]) => new File([Uint8Array.from(atob(text), (one) => one.charCodeAt(0))], name),
          );
        const loraPaths = [`hub=${id}`, { name: 'own', files: made(adapter) }];
        const options = { model: made(files), hub: { endpoint }, memoryBudget: 2 ** 28, sleepAfter: 300 };
        const model = await svc.openTextModel({ ...options, loraPaths });
        const tokens = async (
          prompt: readonly number[],
          lora: string,
          maxTokens: number,
        ): Promise<number[]> => {
          const ids: number[] = [];
          const request = { prompt: { ids: [...prompt] }, lora, maxTokens, temperature: 0, ignoreEos: true };
          for await (const event of model.generate(request))
            if (event.type === 'delta') ids.push(...event.ids);
          return ids;
        };
        const remove = (): Promise<string> =>
          svc.removeModel(id).then(
            () => 'removed',
            (error: Error) => error.message,
          );
        const replies = [
          await tokens(all.prompt_ids, 'hub', all.tokens.length),
          await tokens(some.prompt_ids, 'own', some.tokens.length),
        ];
        while (!model.asleep) await new Promise((resolve) => setTimeout(resolve, 50));
        const refused = await remove();
        await model.close();
        return { replies, refused, removed: await remove() };
      },
      {
        id: ID,
        endpoint: hub.url,
        all: all!,
        some: some!,
        files: encoded(filesIn(model.path)),
        adapter: encoded(filesIn(LORAS, 'llama-some')),
      },
    );
    expect(outcome.replies).toEqual([all!.tokens, some!.tokens]);
    expect(outcome.refused).toContain('is in use by this page');
    expect(outcome.removed).toBe('removed');
  },
  180_000,
);
