// Options of `svc generate` that are not built: they are read and checked like the others, and any value that would change something
// is refused before anything is loaded.

import { UsageError } from '../process/exit.ts';
import type { OptionTable } from '../options/option.ts';

const WHOLE_MODEL =
  'each GPU has all matrices, and --dp-size, --enable-cfg-parallel and --kv-gather-degree divide the work';

const degree = (help: string) =>
  ({
    kind: 'integer',
    min: 1,
    group: 'Parallelism',
    help,
    otherwise: '1',
    unbuilt: { neutral: [1], because: WHOLE_MODEL },
  }) as const;

export const PARALLELISM = {
  'ulysses-degree': degree('Ulysses sequence parallelism.'),
  'ring-degree': degree('Ring sequence parallelism.'),
} as const satisfies OptionTable;

/** Throws UsageError for the first value of an option that is not built; `nameOf` returns the name under which the user gave it. */
export function refuseUnbuilt(
  table: OptionTable,
  values: Readonly<Record<string, unknown>>,
  nameOf: (name: string) => string,
): void {
  for (const [name, { unbuilt }] of Object.entries(table)) {
    const value = values[name];
    if (!unbuilt || value === undefined || isEmpty(value)) continue;
    if (unbuilt.neutral.some((neutral) => neutral === value)) continue;
    const shown = typeof value === 'string' ? value : JSON.stringify(value);
    throw new UsageError(`${nameOf(name)} ${shown} is not built yet: ${unbuilt.because}; leave it out`);
  }
}

function isEmpty(value: unknown): boolean {
  return value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
}
