// Finds the fastest tiles of a language model's products and attention on this adapter, and stores them for the devices that are opened on it later.

import { openCheckpoint } from '../../files/checkpoint/checkpoint.ts';
import { unsupported } from '../../files/error.ts';
import { noteOf } from '../../files/message.ts';
import { closeAll } from '../../files/source.ts';
import { ggufClasses } from '../../models/text/registry.ts';
import { TEXT_CLASSES } from '../opening/architectures.ts';
import { fetchModel } from '../opening/fetch-model.ts';
import type { Platform } from '../platform/platform.ts';
import { SearchTime } from '../tuning/search-time.ts';
import type { OpenEvent } from '../opening/open-event.ts';
import type { Tuned } from '../tuning/tune.ts';
import { Loras } from './lora/loras.ts';
import { loadOnto } from './load.ts';
import { readTextFiles } from './text-files.ts';
import type { TextModelOptions } from './calls/text-model.ts';
import type { TunedModel } from './calls/tuned-model.ts';

/** Milliseconds of all searches. */
const MOST_SEARCH = 60_000;

/** `time`: of all searches. Errors: those of opening the model; unsupported where the adapter has no timestamps. */
export async function tuneModel(
  platform: Platform,
  options: TextModelOptions,
  onEvent: (event: OpenEvent) => void = () => {},
  time = new SearchTime(MOST_SEARCH, () => performance.now()),
): Promise<TunedModel> {
  const note = (message: string): void => onEvent(noteOf(message));
  const path = await fetchModel(platform, options, onEvent, undefined);
  const checkpoint = await openCheckpoint(await platform.openFolder(path), TEXT_CLASSES);
  try {
    const files = await readTextFiles(checkpoint, options, note);
    const device = await platform.openDevice(options);
    try {
      const { timestamps } = device.capabilities;
      if (!timestamps)
        throw unsupported(
          'the adapter has no timestamps to tell fast kernels from slow ones: nothing can be tuned on it',
        );
      const { architecture } = checkpoint;
      const base = { architecture, config: checkpoint.config, gguf: ggufClasses() };
      const loras = new Loras(platform, options, note, base);
      const parts = { kept: null, packed: platform.packed, loras };
      const { runner } = await loadOnto(device, files, options, parts, onEvent);
      const found = await runner.tune({ time });
      const error = device.takeError();
      if (error !== null) throw error;
      const variants = Object.assign({}, ...found.map((one) => one.variants)) as Tuned['variants'];
      if (Object.keys(variants).length > 0) await platform.keepTuned(device.summary, variants);
      return sumOf(found);
    } finally {
      device.destroy();
      await closeAll((files.media?.loras ?? []).map(({ file }) => file));
    }
  } finally {
    await checkpoint.close();
  }
}

function sumOf(found: readonly Tuned[]): TunedModel {
  const sum = (of: (one: Tuned) => number): number => found.reduce((all, one) => all + of(one), 0);
  return {
    kernels: sum(({ variants }) => Object.keys(variants).length),
    changed: sum(({ changed }) => changed),
    before: sum(({ before }) => before),
    after: sum(({ after }) => after),
    isWhole: found.every(({ trials: { done, total } }) => done === total),
  };
}
