// Models of a page, with a stand-in for their worker: what the page itself does with its storage.

import { beforeEach, expect, test, vi } from 'vitest';
import { openTextModel } from '../../../src/host/page/open.ts';
import type { ToHost, ToProxy } from '../../../src/host/thread/wire-messages.ts';
import { MemoryStorage } from '../../files/opfs/memory-storage.ts';

const HELD = 'svc-engine use models/acme--tiny';

/** Opens every model at once, and answers each call with null. */
class InstantWorker {
  static options: unknown[] = [];
  readonly #listeners: ((event: { data: ToProxy }) => void)[] = [];

  addEventListener(type: string, listener: (event: { data: ToProxy }) => void): void {
    if (type === 'message') this.#listeners.push(listener);
  }

  postMessage(message: ToHost | { kind: string }): void {
    if (!('type' in message)) return;
    if (message.type === 'open') InstantWorker.options.push(message.options);
    if (message.type === 'open') this.#answer({ type: 'opened', info: { contextLength: 8 } });
    if (message.type === 'call') this.#answer({ type: 'result', id: message.id, value: null, error: null });
  }

  terminate(): void {}

  #answer(data: ToProxy): void {
    queueMicrotask(() => this.#listeners.forEach((listener) => listener({ data })));
  }
}

/** A worker's scope, in which storage has no persist(). */
let locks: ReturnType<MemoryStorage['tab']>['locks'];
beforeEach(() => {
  const tab = new MemoryStorage().tab();
  locks = tab.locks;
  const storage = { getDirectory: () => tab.root(), estimate: () => tab.estimate() };
  vi.stubGlobal('navigator', { storage, locks });
  vi.stubGlobal('Worker', InstantWorker);
  for (const name of ['addEventListener', 'removeEventListener']) vi.stubGlobal(name, () => {});
  InstantWorker.options = [];
  return () => vi.unstubAllGlobals();
});

const heldNames = async (): Promise<(string | undefined)[]> =>
  ((await locks.query()).held ?? []).map(({ name }) => name);

test('a worker of the page opens models of the hub too, where the user cannot be asked to keep the storage', async () => {
  const model = await openTextModel({ model: 'acme/tiny' });
  expect(InstantWorker.options).toEqual([{ model: 'acme/tiny' }]);
  await model.close();
});

test('a model that may sleep holds its files until it is closed', async () => {
  const model = await openTextModel({ model: 'acme/tiny:Q4_K_M', sleepAfter: 1_000_000 });
  expect(await heldNames()).toEqual([HELD]);
  await model.close();
  await expect.poll(heldNames).toEqual([]);
});

test('adapters of a model that may sleep are held too, and reach the worker by paths', async () => {
  const files = [new File(['{}'], 'adapter_config.json')];
  const loraPaths = ['style=acme/tiny', { name: 'own', files }];
  const given = [new File(['{}'], 'config.json')];
  const model = await openTextModel({ model: given, loraPaths, sleepAfter: 1_000_000 });
  expect(InstantWorker.options).toMatchObject([
    { model: 'page:/files', loraPaths: ['style=acme/tiny', 'own=page:/adapter own'] },
  ]);
  expect(await heldNames()).toEqual([HELD]);
  await model.close();
});
