// Opens the tiers of the prefix cache below the device, as the options of a model have them: host memory and storage.

import type { Checkpoint } from '../../../files/checkpoint/checkpoint.ts';
import { bytesText } from '../../../files/bytes-text.ts';
import { unsupported } from '../../../files/error.ts';
import { option, say, type Prose } from '../../../files/message.ts';
import type { Device } from '../../../gpu/device.ts';
import { DEFAULTS } from '../../../options/limits.ts';
import type { Platform } from '../../platform/platform.ts';
import type { RunnerOptions } from '../step/runner-options.ts';
import type { Runner } from '../step/text-runner.ts';
import type { TextModelOptions } from '../calls/text-model.ts';
import { CacheTiers } from './cache-tiers.ts';
import type { SequencePages } from './sequence-pages.ts';

/** Changes whenever the bytes of a page have another meaning, or are computed otherwise. */
const PAGE_LAYOUT = 'layers of keys and values, 32 tokens';

export interface TierPlace {
  pages: SequencePages;
  /** The parts that are loaded now. */
  parts: () => { device: Device; runner: Runner; quantization: RunnerOptions['quantization'] };
  onTrouble(message: Prose): void;
}

/** Gives null where the options ask for no tier. Errors: unsupported where the platform has no storage, and those of opening it. */
export async function openTiers(
  platform: Platform,
  checkpoint: Checkpoint,
  {
    prefixCache = true,
    hostCache = 0,
    storageCache,
    storageCacheBytes = DEFAULTS.storedBytes,
    deterministic = false,
    batchInvariance = true,
    speculativeDraftModelPath: draftPath,
  }: TextModelOptions,
  { pages, parts, onTrouble }: TierPlace,
): Promise<CacheTiers | null> {
  if (!prefixCache || (hostCache === 0 && storageCache === undefined)) return null;
  if (storageCache !== undefined && !platform.openPageStore) {
    throw unsupported('there is no storage for a cache here: leave out storageCache', 'storageCache');
  }
  const { device, runner: loaded, quantization } = parts();
  const { kvFormat, drafts } = loaded;
  const { windows } = loaded.layout;
  const grouped = windows.length > 1 ? [{ windows, lanes: loaded.layout.lanes }] : [];
  if (storageCache === undefined && hostCache < loaded.copyBytes) {
    onTrouble(
      say`${option('hostCache')} of ${bytesText(hostCache)} holds no copy of the model's fixed states, each of which takes ${bytesText(loaded.copyBytes)}: no prefix is found there`,
    );
  }
  const states = loaded.copyBytes === 0 ? [] : [{ states: loaded.copyBytes }];
  const facts = [PAGE_LAYOUT, checkpoint.config, quantization, kvFormat, device.summary];
  // Pages have the layers of a draft model, too.
  const drafted = drafts ? [{ layers: drafts.declaration.layers, of: draftPath ?? null }] : [];
  const { beside } = checkpoint;
  const media = beside === null ? [] : [{ config: beside.config, processors: beside.processors }];
  const { activations } = device.profile;
  // Options under which kernels compute other bits of keys and values, without those that have their default.
  const kernels = {
    ...(activations !== 'float' && { activations }),
    ...(deterministic && { deterministic }),
    ...(!batchInvariance && { batchInvariance }),
  };
  const others = Object.keys(kernels).length === 0 ? [] : [kernels];
  const laidOut = [...facts, ...grouped, ...states, ...media, ...drafted, ...others];
  const computed = JSON.stringify(laidOut);
  const runner = (): Runner => parts().runner;
  const place = { where: storageCache ?? '', most: storageCacheBytes, checkpoint, computed, onTrouble };
  const storage = storageCache === undefined ? null : await platform.openPageStore!(place);
  return new CacheTiers({ pages, runner, hostBytes: hostCache, storage });
}
