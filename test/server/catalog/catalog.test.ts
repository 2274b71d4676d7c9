// What a catalog does where requests, listings, plans and removals meet.

import { expect, it } from 'vitest';
import { Catalog } from '../../../src/server/catalog/catalog.ts';
import { demandSource, EACH, hold } from './demand-source.ts';

async function listed() {
  const source = demandSource();
  const catalog = new Catalog(
    source,
    { budget: 2 * EACH, most: 0, pinned: [], keepAlive: null, waiting: 8 },
    { changed() {}, removed() {}, trouble() {}, others: () => ({ holders: [], areSettled: true }) },
  );
  await catalog.refresh();
  const model = catalog.models.find(({ name }) => name === 'other')!;
  return { source, catalog, model };
}

function deferred<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve, reject };
}

it('files of a model are not deleted while a request waits for it, nor is it used while they are', async () => {
  const { source, catalog, model } = await listed();
  const end = await catalog.use(model);
  const removal = catalog.remove(model);
  const waits = catalog.use(model);
  end();
  await expect(removal).rejects.toThrow('a request waits for other');
  (await waits)();
  const gone = deferred<void>();
  source.remove = () => gone.promise;
  const removed = catalog.remove(model);
  await expect.poll(() => model.isRemoving).toBe(true);
  await expect(catalog.use(model)).rejects.toThrow('other is being deleted');
  source.models = source.models.filter(({ name }) => name !== 'other');
  gone.resolve();
  await removed;
  await expect(catalog.use(model)).rejects.toThrow('other is being deleted');
  expect(catalog.models).not.toContain(model);
});

it('a change that comes while the list is read is in the list that its caller waits for', async () => {
  const { source, catalog } = await listed();
  const { list } = source;
  const before = deferred<typeof source.models>();
  source.list = () => before.promise;
  const first = catalog.refresh();
  source.list = list;
  const later = [catalog.refresh(), catalog.refresh()];
  before.resolve([...source.models]);
  source.models.push({ ...source.models[0]!, name: 'added' });
  await first;
  expect(catalog.models.map(({ name }) => name)).not.toContain('added');
  await Promise.all(later);
  expect(catalog.models.map(({ name }) => name)).toContain('added');
});

it('a plan that fails when nobody waits for it any more fails no later request', async () => {
  const { source, catalog, model } = await listed();
  const { plan } = source;
  const late = deferred<never>();
  let plans = 0;
  source.plan = () => ((plans += 1), late.promise);
  const left = new AbortController();
  const first = catalog.use(model, { signal: left.signal });
  left.abort();
  await expect(first).rejects.toThrow('cancelled');
  // The plan that runs is that of the next request as well.
  const again = new AbortController();
  const second = catalog.use(model, { signal: again.signal });
  again.abort();
  await expect(second).rejects.toThrow('cancelled');
  expect(plans).toBe(1);
  late.reject(new Error('late'));
  await late.promise.catch(() => {});
  source.plan = plan;
  const release = hold(source, 'other');
  const third = catalog.use(model);
  release();
  (await third)();
  expect(model.error).toBe(null);
});
