// Storage of the layers on the device: the regions of fixed states, and layers that read the pages of others.

import { expect, it } from 'vitest';
import { LayerStores } from '../../../../src/engine/text/kv/layer-stores.ts';
import { wholeLayout } from '../../../../src/engine/text/kv/page-layout.ts';
import { StateMover } from '../../../../src/engine/text/kv/state-mover.ts';
import { readShader } from '../../../../src/gpu/node.ts';
import { openPaperDevice } from '../../../../src/gpu/paper-device.ts';

it('states of a few values lie side by side, although buffers are larger', () => {
  const device = openPaperDevice({ shaders: readShader, memoryBudget: 2 ** 20 });
  const words = { buffer: device.allocate('step', 'table', 4), offset: 0, size: 4 };
  const table = { pages: words, places: words };
  const layers = [
    { kind: 'slot', values: 3 },
    { kind: 'slot', values: 5 },
  ] as const;
  const layout = wholeLayout(layers, 'f32');
  const sizes = { format: 'f32', layout, pages: 1, tables: [table], slots: 5 } as const;
  const { slots } = new LayerStores(device, layers, sizes);
  expect(slots.map(({ values }) => values.size)).toEqual([60, 100]);
  expect(new StateMover(device, slots, 5, 1).bytes).toBe(4 * (3 + 5));
});

it('a layer that reads the keys and values of another has no pages of its own', () => {
  const device = openPaperDevice({ shaders: readShader, memoryBudget: 2 ** 20 });
  const words = { buffer: device.allocate('step', 'table', 4), offset: 0, size: 4 };
  const table = { pages: words, places: words };
  const own = { kind: 'kv', kvHeads: 1, dims: 4, window: null } as const;
  const layers = [own, { kind: 'shared', layer: 0 }] as const;
  const layout = wholeLayout(layers, 'f32');
  expect(layout.pageBytes).toBe(wholeLayout([own], 'f32').pageBytes);
  const { all } = new LayerStores(device, layers, {
    format: 'f32',
    layout,
    pages: 1,
    tables: [table],
    slots: 1,
  });
  expect(all[1]).toBe(all[0]);
});
