// Points of lattices on a device, which kernels of formats that number them read (shaders/lib/grid.wgsl). Each lattice is written once a device.

import { wholeOf } from '../gpu/memory.ts';
import type { Device } from '../gpu/device.ts';
import type { Region } from '../gpu/tensor.ts';
import { GRIDS, type GridName } from './grids.ts';

const made = new WeakMap<Device, Map<GridName, Region>>();

/** The operand of a format's kernels; none: its codes number no points. */
export function gridOperand(device: Device, { grid }: { grid?: GridName }): { grid?: Region } {
  return grid === undefined ? {} : { grid: pointsOn(device, grid) };
}

function pointsOn(device: Device, name: GridName): Region {
  let regions = made.get(device);
  if (!regions) made.set(device, (regions = new Map()));
  let region = regions.get(name);
  if (!region) {
    const bytes = Uint8Array.from(atob(GRIDS[name].join('')), (letter) => letter.charCodeAt(0));
    const buffer = device.allocate('weights', `points of ${name}`, bytes.length);
    device.gpu.queue.writeBuffer(buffer, 0, bytes);
    regions.set(name, (region = wholeOf(buffer)));
  }
  return region;
}
