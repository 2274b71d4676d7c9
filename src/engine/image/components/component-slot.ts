// The place in the cache of packed weights for a page of a pipeline's component.

import type { Weights } from '../../../files/checkpoint/shards.ts';
import { folderOf } from '../../../files/posix-path.ts';
import type { Device } from '../../../gpu/device.ts';
import type { WeightFormat } from '../../../kernels/formats.ts';
import type { PackedCache, PackedSlot } from '../../platform/platform.ts';
import type { WeightChanges } from '../../weights/change.ts';
import { packedLayout } from '../../weights/packed.ts';

interface PageOfComponent {
  device: Device;
  name: string;
  part: string;
  /** null: the format of the file. */
  format: WeightFormat | null;
  /** Changes that adapters make. Weights with any have a place of their own at each loading. */
  changes: WeightChanges;
}

export function componentSlot(
  packed: PackedCache,
  { path, sources }: Pick<Weights, 'path' | 'sources'>,
  { device, name, part, format, changes }: PageOfComponent,
): Promise<PackedSlot> {
  const isChanged = changes.size > 0;
  const kind = [name, part, format?.name ?? 'stored', ...(isChanged ? ['adapted'] : [])];
  const layout = packedLayout(device);
  return packed.slot({
    path: path.endsWith('.json') ? folderOf(path) : path,
    shards: sources.map((source) => source.name),
    quantization: kind.join('-').replace(/[^\w.-]/g, '_'),
    layout: isChanged ? `${layout}-${crypto.randomUUID()}` : layout,
  });
}
