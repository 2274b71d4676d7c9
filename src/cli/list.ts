// svc list: the models on this machine, those that ship first.

import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type CachedModel, listModels, shippedImageModelPath, shippedModelPath } from '../index.ts';
import { createCommand } from './command.ts';
import { sizeText, writeLine } from './terminal.ts';

export const list = createCommand({
  name: 'list',
  summary: 'List the models on this machine.',
  options: { json: { kind: 'boolean', group: 'Output', help: 'As JSON, with paths and revisions.' } },
  async run({ options }) {
    const models = await listModels();
    if (options.json) {
      writeLine(JSON.stringify(models, null, 2));
      return;
    }
    const shipped = [
      { path: shippedModelPath(), file: 'config.json', state: 'ships with the package' },
      { path: shippedImageModelPath(), file: 'model_index.json', state: 'ships with the package, draws' },
    ].filter(({ path, file }) => existsSync(join(path, file)));
    const rows = [...shipped.map(({ path, state }) => [basename(path), '', state]), ...models.map(describe)];
    const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
    for (const [name = '', size = '', state = ''] of rows) {
      writeLine(`${name.padEnd(widths[0] ?? 0)}  ${size.padStart(widths[1] ?? 0)}  ${state}`);
    }
  },
});

function describe({ id, bytes, complete, revisions }: CachedModel): string[] {
  const names = revisions.flatMap(({ refs, commit }) => (refs.length ? refs : [commit.slice(0, 12)]));
  return [id, sizeText(bytes), complete ? names.join(', ') : 'incomplete: pull it again'];
}
