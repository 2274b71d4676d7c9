// A language model for tests of pages in which its words do not matter: the golden Llama, whose tokens cost a twentieth of those of the shipped model.

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { root } from '../../scripts/setup/packages.mjs';
import { writeTokenizer } from '../engine/checkpoint-folder.ts';
import type { Pages } from './chromium.ts';

/** Tokens of its context. */
const CONTEXT = 4096;

/** Makes a folder of the model, which is removed after the tests of the file; pages get its files by shippedFiles('small-chat'). Returns its path. */
export function serveSmallChat(pages: Pages): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-small-chat-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(root, 'test/golden/llama'), folder, {
    recursive: true,
    filter: (path) => !path.endsWith('.recipe.json'),
  });
  const path = join(folder, 'config.json');
  const config = JSON.parse(readFileSync(path, 'utf8')) as object;
  writeFileSync(path, JSON.stringify({ ...config, max_position_embeddings: CONTEXT }));
  writeTokenizer(folder);
  pages.route('/list/small-chat', (_, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(readdirSync(folder)));
  });
  pages.route('/models/small-chat/', ({ url }, response) => {
    response.end(readFileSync(join(folder, url!.split('/').at(-1)!)));
  });
  return folder;
}
