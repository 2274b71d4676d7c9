// svc list: the models on this machine, beginning with those that ship with the package.

import { bytesText } from '../files/bytes-text.ts';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { CachedModel } from '../index.ts';
import { createCommand } from './options/command.ts';
import { writeLine } from './process/terminal.ts';

export const list = createCommand({
  name: 'list',
  summary: 'List the models on this machine.',
  options: { json: { kind: 'boolean', group: 'Output', help: 'As JSON, with paths and revisions.' } },
  async run({ options }) {
    const engine = await import('../index.ts');
    const [chat, images, videos] = [
      engine.shippedModelPath(),
      engine.shippedImageModelPath(),
      engine.shippedVideoModelPath(),
    ];
    const shipped = [chat, images, videos].filter(existsSync).map(shippedModel);
    const cached = await engine.listModels();
    if (options.json) {
      const models = [
        ...shipped.map((model) => ({ ...model, shipped: true })),
        ...cached.map((model) => ({ ...model, shipped: false })),
      ];
      writeLine(JSON.stringify(models, null, 2));
      return;
    }
    const draws = new Map([
      [images, ', draws'],
      [videos, ', draws clips'],
    ]);
    const state = (path: string) => `ships with the package${draws.get(path) ?? ''}`;
    const rows = [
      ...shipped.map(({ id, bytes, path }) => [id, bytesText(bytes), state(path)]),
      ...cached.map(describe),
    ];
    const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
    for (const [name = '', size = '', what = ''] of rows) {
      writeLine(`${name.padEnd(widths[0] ?? 0)}  ${size.padStart(widths[1] ?? 0)}  ${what}`);
    }
  },
});

/** A shipped model in the form of a cached one; the folder's name is its id. */
function shippedModel(path: string): CachedModel {
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((file) => statSync(join(path, file)))
    .filter((file) => file.isFile());
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return { id: basename(path), revisions: [], bytes, path, files: files.length, complete: true };
}

function describe({ id, bytes, complete, revisions }: CachedModel): string[] {
  const names = revisions.flatMap(({ refs, commit, quantizations }) => {
    const tags = quantizations.length === 0 ? '' : ` (GGUF ${quantizations.join(', ')})`;
    return (refs.length ? refs : [commit.slice(0, 12)]).map((name) => `${name}${tags}`);
  });
  return [id, bytesText(bytes), complete ? names.join(', ') : 'incomplete: pull it again'];
}
