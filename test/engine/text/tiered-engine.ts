// An engine on a fake device whose prefix cache extends to host memory and files. Its tiers are closed after each test.

import { expect } from 'vitest';
import { CacheTiers } from '../../../src/engine/text/cache/cache-tiers.ts';
import type { PageStorage } from '../../../src/engine/platform/platform.ts';
import { openFileStore } from '../../../src/files/pages/page-store-file.ts';
import { pageName } from '../../../src/files/pages/stored-page.ts';
import { temporaryFolders } from '../../files/folders.ts';
import { afterEachTest } from '../../hooks.ts';
import { randomInteger } from '../random.ts';
import { allFinished, createPaperEngine, type PaperEngine } from './paper-engine.ts';
import { paperTokens } from './paper-runner.ts';
import { generated, promptOf, type PaperSequence } from './paper-sequence.ts';

export const folders = temporaryFolders();
export const PAGE_BYTES = 256;

export interface TieredEngine extends PaperEngine {
  tiers: CacheTiers;
  /** Fetches from storage first, as model.ts does. */
  run(...sequences: PaperSequence[]): Promise<void>;
  settled(): Promise<void>;
}

const open: TieredEngine[] = [];
afterEachTest(async () => {
  await Promise.all(open.splice(0).map(({ tiers }) => tiers.close()));
});

export async function startTiered(
  {
    pages = 8,
    windows = [null],
    copies = 0,
    hostPages = 0,
    folder,
    storageBytes = 1e9,
    model = 'model',
    stagingPages,
  }: {
    pages?: number;
    windows?: readonly (number | null)[];
    copies?: number;
    hostPages?: number;
    folder?: string;
    storageBytes?: number;
    model?: string;
    stagingPages?: number;
  },
  random = randomInteger(1),
): Promise<TieredEngine> {
  const engine = createPaperEngine({ pages, slots: 4, rows: 64, windows, copies }, random, { loads: 2 });
  const storage: PageStorage | null =
    folder === undefined
      ? null
      : Object.assign(await openFileStore(folder, storageBytes, () => {}), {
          name: (before: string | null, scope: string, tokens: string) =>
            pageName(model, before, scope, tokens),
        });
  const tiers = new CacheTiers({
    pages: engine.scheduler.pages,
    runner: () => engine.runner,
    hostBytes: hostPages * PAGE_BYTES,
    storage,
    ...(stagingPages !== undefined && { stagingBytes: stagingPages * PAGE_BYTES }),
  });
  const tiered: TieredEngine = {
    ...engine,
    tiers,
    async run(...sequences) {
      await Promise.all(sequences.filter(({ leader }) => !leader).map((sequence) => tiers.fetch(sequence)));
      sequences.filter(({ finished }) => !finished).forEach(engine.start);
      await allFinished(sequences);
    },
    async settled() {
      let before = -1;
      while (before !== tiers.counters.backedUp) {
        before = tiers.counters.backedUp;
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
  open.push(tiered);
  return tiered;
}

export function prompt(length: number, seed = 0): number[] {
  return Array.from({ length }, (_, i) => (i * 7 + seed * 31 + (i >> 5)) % 250);
}

export function expectAlone(sequence: PaperSequence): void {
  expect(sequence.events.at(-1)).not.toHaveProperty('error');
  const ids = generated(sequence);
  expect(ids).toEqual(paperTokens(promptOf(sequence), ids.length, sequence.request.sampling.seedLow));
}

export function cached(sequence: PaperSequence): unknown {
  const event = sequence.events.find(({ type }) => type === 'prefill');
  return event?.type === 'prefill' ? event.cached : null;
}
