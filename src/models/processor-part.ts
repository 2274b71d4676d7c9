// The settings of a checkpoint's processors, wherever its files have them.

import { isJsonObject, readConfig, type ConfigReader } from './config-values.ts';
import type { MediaFiles } from './media.ts';

/** Settings of one kind of media, from a file of their own or as a part of processor_config.json. */
export function processorPart(
  processors: MediaFiles['processors'],
  part: string,
  file: string,
): ConfigReader {
  const inner = processors['processor_config.json']?.[part];
  return isJsonObject(inner)
    ? readConfig('processor_config.json', {}).within(part, inner)
    : readConfig(file, processors[file] ?? {});
}

/** Throws if the processor was saved for another number of rows of a tile or an image, because its texts would not fit the tower. */
export function checkRows(
  processors: MediaFiles['processors'],
  key: 'image_seq_length' | 'image_seq_len',
  { rows, of }: { rows: number; of: 'a tile' | 'an image' },
): void {
  const config = readConfig('processor_config.json', processors['processor_config.json'] ?? {});
  const stated = config.count(key, rows);
  if (stated !== rows) throw config.error('bad_checkpoint', key, `is ${stated}, and ${of} has ${rows} rows`);
}
