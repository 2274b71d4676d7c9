import { expect, it } from 'vitest';
import type { OpenedPipeline } from '../../../src/engine/image/opened-pipeline.ts';
import { ResidencySearch } from '../../../src/engine/image/residency-search.ts';

it('the search keeps the devices of the budgets that were used last', async () => {
  const opened: number[] = [];
  const openPaper = async (memoryBudget: number): Promise<OpenedPipeline> => {
    opened.push(memoryBudget);
    return {} as OpenedPipeline;
  };
  const search = new ResidencySearch({ roles: new Map(), asked: new Map(), prefetch: 1, openPaper });
  for (const trial of [1, 2, 3, 4, 5, 6]) {
    await search.paper(trial);
    await search.paper(1000);
  }
  expect(opened).toEqual([1, 1000, 2, 3, 4, 5, 6]);
  await search.paper(6);
  expect(opened.length).toBe(7);
  await search.paper(1);
  expect(opened.slice(7)).toEqual([1]);
});
