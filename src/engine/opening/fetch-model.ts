// Finds or downloads the folder of a model and reports the download as opening events.

import { isGgufName } from '../../files/gguf/file-names.ts';
import type { ByteSource, Folder } from '../../files/source.ts';
import type { Platform } from '../platform/platform.ts';
import { SHARE_FOR_WEIGHTS, type OpenEvent } from './open-event.ts';

/**
 * Returns the folder of a model. If `model` is a hub id, it is downloaded: all of it, or only one `component` of a pipeline.
 * `signal` cancels the download. `inspect` is called with the folder and the names of all its files before the weights are
 * downloaded, and with the path of those that are. `singleFiles`: a model may be one file; left out: where nothing is inspected.
 */
export async function fetchModel(
  platform: Platform,
  options: {
    model: string;
    revision?: string;
    component?: string;
    memoryBudget?: number;
    singleFiles?: boolean;
  },
  onEvent: (event: OpenEvent) => void,
  signal: AbortSignal | undefined,
  inspect?: (folder: Folder, settings: string) => Promise<void>,
): Promise<string> {
  let resumedPercent: number | undefined;
  const { path } = await platform.resolveModel(options.model, {
    ...(options.revision === undefined ? {} : { revision: options.revision }),
    ...(options.component === undefined ? {} : { component: options.component }),
    ...(options.memoryBudget === undefined ? {} : { mostBytes: SHARE_FOR_WEIGHTS * options.memoryBudget }),
    ...((options.singleFiles ?? inspect === undefined) && { singleFiles: true }),
    ...(signal ? { signal } : {}),
    ...(inspect && {
      async inspect(settings, files, remote) {
        const names = files.filter((file) => !file.includes('/') || isGgufName(file));
        // A GGUF file is its own configuration: its header is read before the rest of it is fetched.
        const open = async (name: string): Promise<ByteSource> =>
          isGgufName(name) ? remote(name) : (await platform.openFolder(settings)).open(name);
        await inspect({ path: options.model, names: async () => names, open }, settings);
      },
    }),
    onProgress(event) {
      if (event.type === 'chosen') onEvent({ type: 'note', message: event.message });
      if (event.type === 'resume') resumedPercent = event.percent;
      if (event.type === 'offline')
        onEvent({
          type: 'note',
          message: `the hub cannot be reached (${event.reason}); using the cached ${event.revision}`,
        });
      if (event.type === 'retry') {
        const pause = (event.waitMs / 1000).toFixed(1);
        const message = `${event.path}: ${event.reason}; trying again in ${pause} s`;
        onEvent({ type: 'note', message });
      }
      if (event.type !== 'progress') return;
      const { received: bytes, total: totalBytes } = event;
      onEvent({
        type: 'download',
        file: options.model,
        bytes,
        totalBytes,
        ...(resumedPercent === undefined ? {} : { resumedPercent }),
      });
    },
  });
  return path;
}
