// Memory that the tiers of the prefix cache release: finished copies and closed models.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { CacheTiers, type TierOptions } from '../../../src/engine/text/cache/cache-tiers.ts';
import type { CachedPage } from '../../../src/engine/text/cache/cached-page.ts';
import type { PrefixTree } from '../../../src/engine/text/cache/prefix-tree.ts';
import { paperSequence } from './paper-sequence.ts';
import { folders, prompt, startTiered } from './tiered-engine.ts';

it('cache tiers do not grow with each copy that is made in time', async () => {
  let watcher!: Parameters<PrefixTree['watch']>[0];
  const tree = { watch: (one: typeof watcher) => void (watcher = one), keep() {} };
  const runner = { pageBytes: 1, readPages: async () => [new Uint8Array(1)] };
  const tiers = new CacheTiers({
    pages: { tree },
    runner: () => runner,
    hostBytes: 1,
    storage: null,
  } as unknown as TierOptions);
  const cached = { group: 0, node: {}, page: 0, host: null } as CachedPage;
  const copies = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      watcher.placed(cached);
      watcher.leaving([cached]);
      if (i % 100 === 99) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const held = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  await copies(2000);
  const before = held();
  await copies(20_000);
  expect(held() - before).toBeLessThan(1_500_000);
  expect(tiers.counters.backedUp).toBeGreaterThan(0);
});

it('cache tiers wait for a write that hangs no longer than for others as they close', async () => {
  const engine = await startTiered({ folder: await folders({}) });
  const storage = engine.tiers.storage!;
  const close = storage.close.bind(storage);
  let goOn = (): void => {};
  const written = new Promise<void>((resolve) => (goOn = resolve));
  storage.write = () => written;
  storage.close = () => written.then(close);
  await engine.run(paperSequence(prompt(40), 1));
  await engine.settled();
  await engine.tiers.close();
  goOn();
});
