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
