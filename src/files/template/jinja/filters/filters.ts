// Tables of filters and tests by name.

import type { Filter } from './filter.ts';
import { NUMBER_FILTERS } from './filters-number.ts';
import { pathReader, SEQUENCE_FILTERS } from './filters-sequence.ts';
import { textFilters } from './filters-text.ts';
import { notImplemented } from '../values/failure.ts';
import { createTests, type Test } from './tests.ts';

export const FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ...SEQUENCE_FILTERS,
  ...NUMBER_FILTERS,
  ...textFilters(
    ({ meter }) =>
      (attribute) =>
        pathReader(attribute, meter),
  ),
  [
    'urlize',
    () => {
      throw notImplemented('the filter urlize');
    },
  ],
]);

export const TESTS: ReadonlyMap<string, Test> = createTests((name) => FILTERS.has(name));
