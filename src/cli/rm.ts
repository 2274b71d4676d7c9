// svc rm: removes a model, or one revision of it, from the cache.

import { bytesText } from '../files/bytes-text.ts';
import { MODEL_OPTIONS } from './options/arguments.ts';
import { createCommand } from './options/command.ts';
import { createLog } from './process/terminal.ts';

export const rm = createCommand({
  name: 'rm',
  summary: 'Remove a downloaded model from this machine.',
  positionals: [
    {
      name: 'model',
      help: 'its id, as `npx svc-engine list` shows it; id:Q4_K_M removes one quantization of its GGUF files',
      required: true,
      elsewhere: MODEL_OPTIONS,
    },
  ],
  options: {
    revision: {
      kind: 'string',
      group: 'Model',
      value: 'name',
      help: 'Only this branch, tag or commit.',
      otherwise: 'all',
    },
  },
  async run({ options, positionals: [id = ''] }) {
    const { revision } = options;
    const { removeModel } = await import('../index.ts');
    const { bytes } = await removeModel(id, revision === undefined ? {} : { revision });
    createLog().success(`Removed ${id}: ${bytesText(bytes)} are free again.`);
  },
});
