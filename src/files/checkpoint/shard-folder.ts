// The folder that the files of a checkpoint's weights lie in.

import { basename, dirname, resolve } from 'node:path';

/** `path` is the folder of the checkpoint, or one of the files where it was opened by a GGUF file. */
export function shardFolder(path: string, shards: readonly string[]): string {
  return shards.includes(basename(path)) ? dirname(resolve(path)) : resolve(path);
}
