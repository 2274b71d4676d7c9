// The device that a text model lives on, with what is loaded there; where it is lost the model gets another.

import type { Checkpoint } from '../../files/checkpoint/checkpoint.ts';
import { EngineError } from '../../files/error.ts';
import type { TextDeclaration } from '../../models/text/architecture.ts';
import type { OpenEvent } from '../session/open-event.ts';
import type { Platform } from '../platform.ts';
import { loadOnto, type Loaded, type LoadingOptions } from './load.ts';
import type { Runner } from './step/runner.ts';

export interface Home {
  /** What stands now. */
  readonly loaded: Loaded;
  /** After the device was lost: another one with the model on it. Throws device_lost where there is none. */
  move(reason: string): Promise<Runner>;
}

/** Opens a device and loads the model onto it. Errors: no_adapter, out_of_memory, bad_checkpoint. */
export async function openHome(
  platform: Platform,
  checkpoint: Checkpoint,
  config: TextDeclaration,
  options: Omit<LoadingOptions, 'pages' | 'packed'>,
  onEvent: (event: OpenEvent) => void,
): Promise<Home> {
  // Requests' own functions run with bounds checks on.
  const safe = (options.safe ?? false) || (options.customLogitProcessors ?? false);

  /** A model that comes back must find room for as many pages: free memory is not guessed again. */
  const load = async (before: { memoryBudget: number; pages: number } | null): Promise<Loaded> => {
    const memoryBudget = before?.memoryBudget ?? options.memoryBudget;
    const device = await platform.openDevice({ ...options, memoryBudget, safe });
    try {
      const loading = { ...options, pages: before?.pages ?? null, packed: platform.packed };
      return await loadOnto(device, checkpoint, config, loading, onEvent);
    } catch (error) {
      device.destroy();
      throw error;
    }
  };

  let loaded = await load(null);
  return {
    get loaded() {
      return loaded;
    },
    async move(reason) {
      onEvent({ type: 'note', message: `the GPU device was lost (${reason}); loading the model again` });
      const { device, runner } = loaded;
      loaded = await load({ memoryBudget: device.memoryBudget, pages: runner.pages }).catch(
        (cause: unknown) => {
          throw new EngineError(
            'device_lost',
            `the GPU device was lost (${reason}) and could not be opened again: restart the program`,
            { cause },
          );
        },
      );
      return loaded.runner;
    },
  };
}
