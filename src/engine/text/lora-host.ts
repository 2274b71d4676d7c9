// LoRA adapters on a runner's device: their factors, and when they may change. Kernels bind other bytes after a change, so what is
// recorded with adapters is recorded anew; a step whose sampling is still to come keeps what it was computed in.

import type { Device } from '../../gpu/device.ts';
import type { Matrix } from '../../kernels/matrix.ts';
import type { AdapterHost } from './adapters.ts';
import { LoraStore } from '../weights/adapt.ts';

export interface LoraHost extends AdapterHost {
  readonly store: LoraStore;
  /** Called after a change, in the same turn. */
  changed: () => void;
  /** No change from now until the function it gives is called. */
  hold(): () => void;
}

export function createLoraHost(device: Device, matrices: readonly Matrix[]): LoraHost {
  const store = new LoraStore(device, matrices);
  const held = new Set<Promise<void>>();

  const free = async (): Promise<void> => {
    while (held.size > 0) {
      const lost = await Promise.race([device.lost, ...held]);
      if (lost !== undefined) held.clear();
    }
  };

  const host: LoraHost = {
    store,
    changed: () => {},
    hold() {
      let release!: () => void;
      const holding = new Promise<void>((resolve) => (release = resolve));
      held.add(holding);
      return () => {
        held.delete(holding);
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
