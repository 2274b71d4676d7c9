// svc pull: downloads a model from the hub into the cache and prints its folder.

import { EngineError } from '../files/error.ts';
import { LOADING } from '../options/model.ts';
import { MODEL_OPTIONS } from './options/arguments.ts';
import { createCommand } from './options/command.ts';
import { SERVER_OPTIONS } from './serve/server-options.ts';
import { optionsOf } from './options/setting-options.ts';
import { showDownload } from './process/progress.ts';
import { createLog, writeLine } from './process/terminal.ts';

export const pull = createCommand({
  name: 'pull',
  summary: 'Download a model from the hub, or complete an interrupted download.',
  positionals: [
    {
      name: 'model',
      help: 'its id on the hub, as owner/name, or owner/name:Q4_K_M for one quantization of its GGUF files',
      required: true,
      elsewhere: MODEL_OPTIONS,
    },
  ],
  options: {
    revision: optionsOf(LOADING).revision,
    'log-level': { ...SERVER_OPTIONS['log-level'], group: 'Output' },
  },
  notes:
    'HF_TOKEN, HF_ENDPOINT, HF_HOME and HF_HUB_OFFLINE are honoured; SVC_USE_MODELHUB=1 asks the second hub instead.',
  async run({ options, positionals: [id = ''] }) {
    const log = createLog(options['log-level']);
    const { event, end } = showDownload(log);
    const stop = new AbortController();
    const interrupt = () => stop.abort();
    process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
    try {
      const { revision } = options;
      const { resolveModel } = await import('../index.ts');
      const resolved = await resolveModel(id, {
        ...(revision !== undefined && { revision }),
        onProgress: event,
        signal: stop.signal,
      });
      end();
      writeLine(resolved.path);
    } catch (error) {
      end();
      if (error instanceof EngineError && error.code === 'cancelled') {
        log.info(`Stopped. What has arrived is kept: \`npx svc-engine pull ${id}\` goes on from there.`);
      }
      throw error;
    } finally {
      process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
    }
  },
});
