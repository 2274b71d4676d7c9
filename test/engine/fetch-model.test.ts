// What is heard of a download while a model opens.

import { expect, it } from 'vitest';
import { fetchModel } from '../../src/engine/fetch-model.ts';
import type { OpenEvent } from '../../src/engine/text/text-model.ts';
import { nodePlatform } from '../../src/engine/platform-node.ts';
import type { HubEvent } from '../../src/files/hub-events.ts';

const HEARD: HubEvent[] = [
  { type: 'retry', path: 'hub/api', reason: 'ENOTFOUND', attempt: 1, waitMs: 1234 },
  { type: 'resume', id: 'a/b', files: [], percent: 40 },
  { type: 'progress', received: 5, total: 10, percent: 50 },
  { type: 'offline', id: 'a/b', revision: 'c', reason: 'silence' },
];

it('is progress, and a note for each thing that goes otherwise than it should', async () => {
  const events: OpenEvent[] = [];
  const platform: typeof nodePlatform = {
    ...nodePlatform,
    resolveModel(_, { onProgress }) {
      for (const event of HEARD) onProgress?.(event);
      return Promise.resolve({ path: '/a/b' });
    },
  };
  const path = await fetchModel(platform, { model: 'a/b' }, (event) => events.push(event), undefined);
  expect(path).toBe('/a/b');
  expect(events).toEqual([
    { type: 'note', message: 'hub/api: ENOTFOUND; trying again in 1.2 s' },
    { type: 'download', file: 'a/b', bytes: 5, totalBytes: 10, resumedPercent: 40 },
    { type: 'note', message: 'the hub cannot be reached (silence); using the cached c' },
  ]);
});
