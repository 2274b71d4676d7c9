// The chat template of Z-Image and FLUX.2 klein, into which prompts are written.

import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openTemplate } from '../../../../src/engine/image/blocks/chat-template.ts';
import { openPipeline } from '../../../../src/files/pipeline/pipeline-index.ts';
import { openTokenizer } from '../../../../src/engine/image/components/component-files.ts';
import { knownPipelines } from '../../../../src/engine/image/families/registry.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import type { ComponentAccess } from '../../../../src/engine/image/components/components.ts';
import { tinyPipeline } from '../pipeline-golden.ts';
import { newFolder } from '../tiny-pipelines.ts';

it('a chat template that refuses the message is blamed as a file, and not the prompt', async () => {
  const folder = newFolder('template');
  cpSync(tinyPipeline('z-image'), folder, { recursive: true });
  writeFileSync(join(folder, 'tokenizer', 'chat_template.jinja'), "{{ raise_exception('no users') }}");
  const { components } = await openPipeline(folder, openDiskFolder, knownPipelines());
  const tokenizer = components['tokenizer']!;
  const access = { get: () => tokenizer, tokenizer: () => openTokenizer(tokenizer) };
  const { template } = await openTemplate(access as unknown as ComponentAccess);
  expect(() => template.render({ messages: [{ role: 'user', content: 'a house' }] })).toThrow(
    expect.objectContaining({
      code: 'bad_checkpoint',
      param: 'tokenizer/tokenizer_config.json',
      message: expect.stringMatching(
        /\/tokenizer: .*chat template refused these messages: .*no users/,
      ) as string,
    }) as Error,
  );
});
