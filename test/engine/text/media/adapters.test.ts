// Adapters of the language model of a class that reads images, as PEFT names their modules, in conversations with images: the tokens of merged
// weights, in any batch.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { TextModel } from '../../../../src/engine/text/calls/text-model.ts';
import { requestOf, run, type Conversation } from './conversations.ts';
import { openMediaModel } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

const FOLDER = fileURLToPath(new URL('../../../golden/pixtral', import.meta.url));
const ADAPTER = join(FOLDER, 'mistral3-adapter');
const { conversations, adapted } = JSON.parse(readFileSync(`${FOLDER}/mistral3.json`, 'utf8')) as {
  conversations: Record<string, Conversation>;
  adapted: Record<string, number[]>;
};
const names = Object.keys(conversations);

let model: TextModel;
beforeAll(async () => {
  model = await openMediaModel(
    { path: `${FOLDER}/mistral3` },
    { prefillChunk: 16, loraPaths: [`own=${ADAPTER}`] },
  );
});
afterAll(() => model.close());

const ids = async (name: string, lora?: string): Promise<number[]> =>
  (await run(model, { ...requestOf(conversations[name]!), ...(lora !== undefined && { lora }) })).ids;

it('a model with media has the tokens of merged weights with a LoRA, and its own without', async () => {
  for (const name of names) {
    expect(await ids(name, 'own'), name).toEqual(adapted[name]);
    // The pages that the adapter has filled for the same image are not found.
    expect(await ids(name), name).toEqual(conversations[name]!.greedy);
  }
  expect(adapted['one']).not.toEqual(conversations['one']!.greedy);
});

it('a batch of requests with media, with and without the LoRA, equals singles', async () => {
  await model.flushCache();
  const all = names.flatMap((name) => [ids(name, 'own'), ids(name)]);
  const wanted = names.flatMap((name) => [adapted[name], conversations[name]!.greedy]);
  expect(await Promise.all(all)).toEqual(wanted);
});

/** The adapter with other names of its modules. */
function renamed(change: (name: string) => string): string {
  const folder = mkdtempSync(join(tmpdir(), 'adapter-'));
  cpSync(ADAPTER, folder, { recursive: true });
  const path = join(folder, 'adapter_model.safetensors');
  const bytes = readFileSync(path);
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString()) as Record<string, unknown>;
  const changed = Object.fromEntries(Object.entries(header).map(([name, value]) => [change(name), value]));
  const text = Buffer.from(JSON.stringify(changed));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  writeFileSync(path, Buffer.concat([size, text, bytes.subarray(8 + length)]));
  return folder;
}

it('modules of a LoRA may have the names of transformers before version 5', async () => {
  const folder = renamed((name) => name.replace('.model.language_model.', '.language_model.model.'));
  await model.loadLora('older', folder);
  expect(await ids('one', 'older')).toEqual(adapted['one']);
  rmSync(folder, { recursive: true });
});

it('a LoRA of the tower is refused by its name', async () => {
  const folder = renamed((name) =>
    name.replace(
      '.model.language_model.layers.0.self_attn',
      '.model.vision_tower.transformer.layers.0.attention',
    ),
  );
  await expect(model.loadLora('tower', folder)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(
      /adapts model\.vision_tower\..*attention\.[qv]_proj, which is not among/,
    ) as string,
  });
  rmSync(folder, { recursive: true });
});
