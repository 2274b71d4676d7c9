// Tokenizers of pipelines that diffusers saved under transformers 5, which names a class that reads the files of any tokenizer.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { openTokenizer } from '../../../../src/engine/image/components/component-files.ts';
import { knownPipelines } from '../../../../src/engine/image/families/registry.ts';
import { openPipeline, type PipelineComponent } from '../../../../src/files/pipeline/pipeline-index.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import { temporaryFolders, type Files } from '../../../files/folders.ts';
import { INDEX, PIPELINE } from '../../../files/pipeline/tiny-index.ts';
import { tinyPipeline } from '../pipeline-golden.ts';

const FOLDER = fileURLToPath(new URL('../../../golden/image/saved-tokenizer', import.meta.url));
const folderOf = temporaryFolders();

interface Golden {
  entry: [library: string, className: string];
  prompts: { text: string; ids: number[] }[];
}
const { entry, prompts } = JSON.parse(readFileSync(`${FOLDER}/case.json`, 'utf8')) as Golden;

async function componentOf(tokenizer: readonly [string, string], files: Files): Promise<PipelineComponent> {
  const others = Object.entries(PIPELINE).filter(([name]) => !name.startsWith('tokenizer/'));
  const own = Object.entries(files).map(([name, content]) => [`tokenizer/${name}`, content] as const);
  const index = { 'model_index.json': { ...INDEX, tokenizer } };
  const path = await folderOf({ ...Object.fromEntries([...others, ...own]), ...index });
  const { components } = await openPipeline(path, openDiskFolder, knownPipelines());
  return components['tokenizer']!;
}

const read = (folder: string, names: readonly string[]): Files =>
  Object.fromEntries(names.map((name) => [name, readFileSync(`${folder}/${name}`)]));

const SAVED = read(FOLDER, ['tokenizer.json', 'tokenizer_config.json']);
const PAIR = read(`${tinyPipeline('sd1')}/tokenizer`, ['vocab.json', 'merges.txt', 'tokenizer_config.json']);

it.each([
  ['as transformers 5 saves it', entry, SAVED],
  ['under the name of transformers 4', ['transformers', 'PreTrainedTokenizerFast'] as const, SAVED],
  ['by the class that its own configuration names', entry, PAIR],
])('a tokenizer without a class of its own is read by its files, %s', async (_, pair, files) => {
  const tokenizer = await openTokenizer(await componentOf(pair, files));
  for (const { text, ids } of prompts) expect([...tokenizer.encode(text)], text).toEqual(ids);
});

it('a tokenizer is refused where its files need a class and none is named', async () => {
  const { 'tokenizer_config.json': _, ...files } = PAIR;
  const config = { tokenizer_class: 'TokenizersBackend' };
  const component = await componentOf(entry, { ...files, 'tokenizer_config.json': config });
  await expect(openTokenizer(component)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining(
      'this one is for TokenizersBackend: fetch or make a tokenizer.json',
    ) as string,
  });
});
