// The initial budget of a device in a page, by profile and by the memory that the browser reports.

import { expect, it } from 'vitest';
import { firstBudget, PROFILES } from '../../src/gpu/adapter-profile.ts';
import { freeBytes } from '../../src/gpu/browser.ts';

const GIB = 2 ** 30;
const budgets = (deviceMemory?: number): Record<string, number> =>
  Object.fromEntries(
    PROFILES.map((profile) => [
      profile.name,
      Math.round((firstBudget(profile, freeBytes(deviceMemory)) / GIB) * 10) / 10,
    ]),
  );

it('the memory budget of a page is a share of the memory that is probably free, on cards a stated figure', () => {
  expect(budgets(8)).toEqual({ cpu: 2.4, integrated: 2.4, discrete: 4 });
  expect(budgets(32)).toEqual({ cpu: 9.6, integrated: 9.6, discrete: 4 });
  expect(budgets(2)).toEqual({ cpu: 0.6, integrated: 2, discrete: 4 });
});

it('the memory budget of a page is that of 4 GiB if the browser reports no memory', () => {
  expect(budgets()).toEqual(budgets(4));
});
