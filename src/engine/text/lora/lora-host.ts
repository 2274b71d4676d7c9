// LoRA adapters on a runner's device: their factors, and when these may change. Kernels bind other buffers after a change, so tapes
// with adapters are recorded again; a step that has not been sampled yet keeps the factors it was computed with.

import type { Device } from '../../../gpu/device.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import type { AdapterHost } from './adapters.ts';
import { LoraStore } from '../../weights/adapt.ts';

export interface LoraHost extends AdapterHost {
  readonly store: LoraStore;
  /** Called after a change, in the same tick. */
  changed: () => void;
  /** Blocks changes until the returned function is called. */
  hold(): () => void;
}

export function createLoraHost(device: Device, matrices: readonly Matrix[]): LoraHost {
  const store = new LoraStore(device, matrices);
  const holds = new Set<Promise<void>>();

  const free = async (): Promise<void> => {
    while (holds.size > 0) {
      const lost = await Promise.race([device.lost, ...holds]);
      if (lost !== undefined) holds.clear();
    }
  };

  const host: LoraHost = {
    store,
    changed: () => {},
    hold() {
      let release!: () => void;
      const holding = new Promise<void>((resolve) => (release = resolve));
      holds.add(holding);
      return () => {
        holds.delete(holding);
        release();
      };
    },
    async add(adapter, file) {
      const { commit } = await store.prepare(adapter, file);
      await free();
      commit();
      try {
        host.changed();
      } catch (error) {
        store.remove(adapter);
        host.changed();
        throw error;
      }
    },
    async remove(adapter) {
      await free();
      store.remove(adapter);
      host.changed();
    },
  };
  return host;
}
