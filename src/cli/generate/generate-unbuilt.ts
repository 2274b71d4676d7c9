// Options of `svc generate` that are not built: they are read and checked like the others, and any value that would change something
// is refused before anything is loaded.

import { UsageError } from '../process/exit.ts';
import type { OptionTable } from '../options/option.ts';

const ONE_GPU = 'images are drawn on one GPU';

const degree = (help: string, aliases: readonly string[] = []) =>
  ({
    kind: 'integer',
    min: 1,
    group: 'Parallelism',
    help,
    aliases,
    otherwise: '1',
    unbuilt: { neutral: [1], because: ONE_GPU },
  }) as const;

export const PARALLELISM = {
  'num-gpus': degree('GPUs used.'),
  'tp-size': degree('Tensor parallelism.'),
  'sp-degree': degree('Sequence parallelism.'),
  'ulysses-degree': degree('Ulysses sequence parallelism.'),
  'ring-degree': degree('Ring sequence parallelism.'),
  'dp-size': degree('Data parallel groups.', ['data-parallel-size', 'dp']),
  'dp-degree': degree('GPUs in a data parallel group.'),
  'enable-cfg-parallel': {
    kind: 'boolean',
    group: 'Parallelism',
    help: 'Both halves of classifier-free guidance at once, on two GPUs.',
    otherwise: 'false',
    unbuilt: { neutral: [false], because: ONE_GPU },
  },
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
