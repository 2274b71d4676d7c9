// Opens the files of a pipeline's components, and chooses the format of their matrices.

import type { Weights } from '../../../files/checkpoint/shards.ts';
import type { Device } from '../../../gpu/device.ts';
import { closeFiles, componentOf, orClose } from './component-files.ts';
import { chooseFormat } from './component-format.ts';
import { Components, type ComponentsOptions } from './components.ts';

/** `names`: the components that have weights. */
export async function openComponents(
  device: Device,
  names: readonly string[],
  options: ComponentsOptions,
): Promise<Components> {
  const files = new Map<string, Weights>();
  return orClose(
    () => closeFiles(files),
    async () => {
      for (const name of names)
        files.set(name, await options.openWeights(componentOf(options.pipeline, name)));
      return new Components(device, files, await chooseFormat(device, options, [...files.values()]), options);
    },
  );
}
