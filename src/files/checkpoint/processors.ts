// Configurations of the processors of images, videos and sounds that stand in files of their own beside config.json.

import { readJson, type Folder } from '../source.ts';

const FILES = ['preprocessor_config.json', 'video_preprocessor_config.json', 'processor_config.json'];

/** Contents of the files that the folder has, by name. */
export async function readProcessors(
  folder: Folder,
  names: readonly string[],
): Promise<Record<string, Record<string, unknown>>> {
  const found = FILES.filter((name) => names.includes(name));
  return Object.fromEntries(
    await Promise.all(found.map(async (name) => [name, await readJson(folder, name)])),
  );
}
