// svc doctor --tune: times the tiles of a language model's products and attention on this adapter and keeps the fastest.

import type { TunedModel } from '../../index.ts';
import { TUNING } from '../../options/jobs.ts';
import { UsageError } from '../process/exit.ts';
import type { Option, OptionTable, Values } from '../options/option.ts';
import { optionsOf, settingsGiven } from '../options/setting-options.ts';
import { writeLine } from '../process/terminal.ts';

export const TUNE_OPTIONS = {
  tune: {
    kind: 'boolean',
    group: 'Tuning',
    help: 'Time the tiles of products and attention of --model-path on this adapter, within about a minute, and keep the fastest; results stay the same.',
  },
  'model-path': {
    kind: 'string',
    group: 'Tuning',
    value: 'model',
    help: 'The language model that is tuned: a folder, a GGUF file, or an id on the hub. `svc generate --enable-torch-compile` tunes image models.',
  },
  ...optionsOf(TUNING),
} as const satisfies OptionTable;

type TuneValues = Partial<Values<typeof TUNE_OPTIONS>>;

/** Whether the options ask for tuning. Throws UsageError for a model that is missing, and for options of tuning without --tune. */
export function asksForTuning(options: TuneValues & { kernels?: boolean | undefined }): boolean {
  const given = Object.entries<Option>(TUNE_OPTIONS).flatMap(([name, option]) => {
    const value = options[name as keyof TuneValues];
    const standard = 'default' in option ? option.default : undefined;
    return name === 'tune' || value === undefined || value === standard ? [] : [name];
  });
  if (options.tune !== true) {
    if (given.length > 0) throw new UsageError(`--${given[0]} is for --tune: add --tune, or leave it out`);
    return false;
  }
  if (options['model-path'] === undefined)
    throw new UsageError('--tune needs --model-path: tiles are tuned for the shapes of a model');
  if (options.kernels === true)
    throw new UsageError('--kernels and --tune are two runs: give one of them at a time');
  return true;
}

export async function tuneModel(options: TuneValues, asJson: boolean): Promise<void> {
  const { tuneTextModel } = await import('../../index.ts');
  const model = options['model-path']!;
  const tuned = await tuneTextModel({ model, ...settingsGiven(TUNING, options) });
  writeLine(asJson ? JSON.stringify({ model, ...tuned }, null, 2) : describeTuned(model, tuned));
}

export function describeTuned(
  model: string,
  { kernels, changed, before, after, isWhole }: TunedModel,
): string {
  if (kernels === 0)
    return isWhole
      ? `${model}: all kernels of its steps were tuned before on this adapter and driver`
      : `${model}: nothing is tuned, because the time for it was over before a second variant was timed`;
  const rest = isWhole ? '' : '; the search ended before all variants were timed: run it again for the rest';
  return (
    `${model}: of ${kernels} kernels ${changed} are faster in other tiles, ` +
    `${after.toFixed(1)} instead of ${before.toFixed(1)} ms for all of them${rest}`
  );
}
